import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { refuseMixture, sectionsOf, TABLES, withFigures } from './bench.js';
import { figure, ours } from './lines.js';

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

test('the page has a place for every table', () => {
  const places = [...PERFORMANCE.matchAll(/<!-- figures:([\w-]+) -->[\s\S]*?<!-- \/figures:\1 -->/g)];
  const wanted = ['machine', 'goals', 'installed', 'engines', 'memory', ...TABLES.map(({ name }) => name)];
  expect(places.map(([, name]) => name).sort()).toEqual(wanted.sort());
  const sections = sectionsOf([ours('idle_stmts_per_s', 0.2)], []);
  expect(withFigures(PERFORMANCE, sections)).toContain('| idle statements a second |');
});
