import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  figuresOf,
  figuresWith,
  publishedGoals,
  refuseMixture,
  sectionsBeside,
  sectionsKept,
  sectionsOf,
  TABLES,
  withFigures,
} from './bench.js';
import { engine, figure, ours } from './lines.js';

const PERFORMANCE = readFileSync(join(import.meta.dirname, '../../docs/performance.md'), 'utf8');
const PAGE = `# Title

Before.

<!-- figures:in-flight -->
| old |
<!-- /figures:in-flight -->

Between.

<!-- figures:steps -->
<!-- /figures:steps -->

After $1 and $&.
`;

test('what stands between the markers is replaced, and all else is kept', () => {
  const page = withFigures(PAGE, { 'in-flight': '| new, for $1 |' });
  expect(page).toBe(PAGE.replace('| old |', () => '\n| new, for $1 |\n'));
  expect(withFigures(page, { 'in-flight': '| old |' })).not.toContain('new');
  expect(withFigures(page, { steps: '| steps |' })).toContain(
    '<!-- figures:steps -->\n\n| steps |\n\n<!-- /figures:steps -->',
  );
});

test('nothing is changed where there is nothing new, nor where a marker is not closed', () => {
  expect(withFigures(PAGE, {})).toBe(PAGE);
  expect(withFigures(PAGE, { other: 'x' })).toBe(PAGE);
  const open = '<!-- figures:steps -->\nkept\n<!-- /figures:other -->';
  expect(withFigures(open, { steps: 'x' })).toBe(open);
});

test('a section is its charts, as far as they were drawn, and its table', () => {
  const lines = [
    figure('in-flight', 'sagas_per_s', 5_000, { in_flight: 100 }),
    figure('limit', 'sagas_per_s', 1, { by: 'SQL alone' }),
  ];
  const { 'in-flight': drawn, limit } = sectionsOf(lines, ['in-flight', 'throughput']);
  expect(drawn).toMatch(/^!\[.*\]\(images\/performance\/in-flight\.svg\)\n\n\| in flight \|/);
  expect(drawn).not.toContain('in-flight-latency');
  expect(limit).toMatch(/^\| written by \|/);
});

test('runs of different machines or versions are not published together', () => {
  const machine = { metric: 'machine', version: '1.0.0', processors: 2, at: 'yesterday' };
  expect(() => refuseMixture([machine, { ...machine, at: 'today' }])).not.toThrow();
  expect(() => refuseMixture([machine, { ...machine, processors: 4 }])).toThrow('processors is 2, 4');
});

const MACHINE = {
  ...{ metric: 'machine', version: '1.0.0', processors: 2, model: 'CPU', memory_gb: 8, system: 'linux' },
  ...{ node: '22', postgres: '18', at: '2026-11-25T10:00:00Z', round: 1 },
};

test('a run of a few measures says on what it was measured, and leaves the machine as it is', () => {
  const lines = [MACHINE, figure('limit', 'sagas_per_s', 1, { by: 'SQL alone' })];
  const installed = { installed: true, node: '20' };
  lines.push(ours('throughput', 300, 1, installed), engine('dbos', 'direct', 'throughput', 10, 1, installed));
  const sections = sectionsBeside(lines, []);
  expect(Object.keys(sections)).toEqual(['installed', 'limit']);
  for (const text of Object.values(sections))
    expect(text.match(/Version 1.0.0, 2026-11-25/g)).toHaveLength(1);
});

test('what a run of a few measures has measured is in one place, and all other figures are kept', () => {
  const whole = figuresOf([
    figure('limit', 'sagas_per_s', 1),
    figure('steps', 'sagas_per_s', 2),
    ours('idle_stmts_per_s', 0.3),
  ]);
  const limit = figuresOf([{ ...MACHINE, at: 'first' }, figure('limit', 'sagas_per_s', 3)]);
  const again = figuresOf([{ ...MACHINE, at: 'second' }, figure('limit', 'sagas_per_s', 4)]);
  const published = [limit, again].reduce((all, run) => figuresWith(all, run, { beside: true }), whole);
  expect(Object.keys(published.measures)).toEqual(['steps']);
  expect(published.goals).toEqual(whole.goals);
  expect(published.beside).toMatchObject([{ machine: { at: 'second' }, measures: again.measures }]);
});

test('a run of all engines takes the place of the last one, of which stays what it has not measured', () => {
  const idle = (at: string) => figuresOf([{ ...MACHINE, at }, ours('idle_stmts_per_s', 0.3)]);
  const before = figuresOf([
    { ...MACHINE, at: '2026-11-01' },
    ours('idle_stmts_per_s', 5),
    figure('limit', 'part_of_limit_ratio', 0.4),
    figure('steps', 'sagas_per_s', 2),
  ]);
  const run = figuresOf([
    { ...MACHINE, at: '2026-11-02' },
    ours('idle_stmts_per_s', 0.3),
    figure('steps', 'sagas_per_s', 3),
  ]);
  const published = figuresWith(before, run, { beside: false });
  expect(published).toMatchObject({ machine: { at: '2026-11-02' }, measures: run.measures });
  expect(published.beside).toMatchObject([{ machine: { at: '2026-11-01' } }]);
  expect(Object.keys(published.beside![0]!.measures)).toEqual(['limit']);
  expect(publishedGoals(published).map(({ what, day }) => [what, day])).toEqual([
    ['idle statements a second', '2026-11-02'],
    ['throughput, part of the server’s limit', '2026-11-01'],
  ]);
  // Nothing of an earlier run is left once it is measured again.
  expect(figuresWith(idle('2026-11-01'), run, { beside: false }).beside).toEqual([]);
});

test('a section of an earlier run of all engines says on what it was measured, once the page names a later one', () => {
  const before = figuresOf([
    MACHINE,
    figure('in-flight', 'sagas_per_s', 1),
    figure('steps', 'sagas_per_s', 2),
  ]);
  const kept = sectionsKept(PAGE, before, ['steps', 'machine']);
  expect(Object.keys(kept)).toEqual(['in-flight']);
  expect(kept['in-flight']).toMatch(/^Version 1\.0\.0, 2026-11-25: [^\n]+\n\n\| old \|$/);
});

test('engines as installed are no figures of the engines in their best settings', () => {
  const installed = { installed: true, node: '20' };
  const { engines } = figuresOf([
    ours('throughput', 100),
    ours('throughput', 50, 1, installed),
  ]) as unknown as { engines: { metrics: { throughput: { value: { median: number; rounds: number } } } }[] };
  expect(engines[0]!.metrics.throughput.value).toMatchObject({ median: 100, rounds: 1 });
});

test('the page has a place for every table', () => {
  const places = [...PERFORMANCE.matchAll(/<!-- figures:([\w-]+) -->[\s\S]*?<!-- \/figures:\1 -->/g)];
  const wanted = ['machine', 'goals', 'installed', 'engines', 'memory', ...TABLES.map(({ name }) => name)];
  expect(places.map(([, name]) => name).sort()).toEqual(wanted.sort());
  const sections = sectionsOf([ours('idle_stmts_per_s', 0.2)], []);
  expect(withFigures(PERFORMANCE, sections)).toContain('| idle statements a second |');
});
