import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  compare,
  compareAll,
  COMPARED,
  comparedOf,
  figuresOf,
  Gate,
  gateReport,
  isOpen,
  type Ratio,
  readLines,
} from './bench.js';
import { engine, figure, ours } from './lines.js';

/** Without noise, unless a spread is given. */
const ratio = (median: number, spread = 0, rounds = 5): Ratio => ({
  median,
  min: median - spread / 2,
  max: median + spread / 2,
  rounds,
});
const DBOS = 'throughput, times DBOS';
const SQL = 'throughput, part of the same rows by SQL alone';

describe('one ratio', () => {
  test.each([
    ['more', 40, 40, 0, 'pass'],
    ['more', 40, 36.1, 0.0975, 'pass'],
    ['more', 40, 35.9, 0.1025, 'fail'],
    ['more', 40, 80, -1, 'pass'],
    ['less', 2, 2.2, 0.0909, 'pass'],
    ['less', 2, 2.3, 0.1304, 'fail'],
    ['less', 2, 1, -1, 'pass'],
  ] as const)('where %s is better, from %d to %d: a loss of %d, %s', (better, from, to, loss, result) => {
    const compared = compare(ratio(from), ratio(to), better);
    expect(compared.loss).toBeCloseTo(loss, 4);
    expect(compared).toMatchObject({ noise: 0, result });
  });

  test('is undecided, and does not fail, as long as noise explains what exceeds the tolerated loss', () => {
    // The spread of 10 in five rounds of 40 is an error of 5 %, twice that is 10 % of noise.
    expect(compare(ratio(40, 10), ratio(33), 'more')).toMatchObject({ noise: 0.1, result: 'undecided' });
    expect(compare(ratio(40), ratio(33), 'more').result).toBe('fail');
    expect(compare(ratio(40, 10), ratio(31.9), 'more').result).toBe('fail');
  });

  test('has the noise of both runs, which more rounds reduce', () => {
    const noise = (published: Ratio, fresh: Ratio) => compare(published, fresh, 'more').noise!;
    expect(noise(ratio(40, 6), ratio(40, 8))).toBeCloseTo(2 * Math.hypot(0.03, 0.04), 9);
    expect(noise(ratio(40, 6), ratio(40, 6))).toBeCloseTo(noise(ratio(1, 0.15), ratio(80, 12)), 9);
    expect(noise(ratio(40), ratio(40, 8, 10))).toBeCloseTo(noise(ratio(40), ratio(40, 8, 5)) / 2, 9);
  });

  test('is not compared if it is missing, or has too few rounds to show its noise', () => {
    const missing = { result: 'not compared' };
    expect(compare(undefined, ratio(1), 'more')).toEqual(missing);
    expect(compare(ratio(1), undefined, 'more')).toEqual(missing);
    expect(compare(ratio(10), ratio(1, 0, 2), 'more')).toEqual(missing);
    expect(compare(ratio(10, 0, 2), ratio(1), 'more')).toEqual(missing);
    expect(compare(ratio(10, 0, 3), ratio(1, 0, 3), 'more').result).toBe('fail');
  });
});

describe('the gate', () => {
  test('fails for one ratio that lost, and names it with its loss', () => {
    const rows = compareAll(
      { [DBOS]: ratio(40), [SQL]: ratio(0.4) },
      { [DBOS]: ratio(40), [SQL]: ratio(0.3) },
    );
    const { text, passes } = gateReport(rows);
    expect(passes).toBe(false);
    expect(text).toContain(`REGRESSION: ${SQL}: 25 % worse than published`);
    expect(text).not.toContain(`REGRESSION: ${DBOS}`);
  });

  test('passes if nothing lost, with ratios that are not published yet', () => {
    const { text, passes } = gateReport(compareAll({ [DBOS]: ratio(40) }, { [DBOS]: ratio(39) }));
    expect(passes).toBe(true);
    expect(text).toContain(`| ${DBOS} | 40 (40–40, 5 rounds) | 39 (39–39, 5 rounds) | 2.5 % | 0 % | pass |`);
    expect(text).toContain('not compared');
  });

  test('fails if there is nothing to compare', () => {
    expect(gateReport(compareAll({}, { [DBOS]: ratio(40) }))).toMatchObject({ passes: false });
    expect(gateReport(compareAll({ [DBOS]: ratio(40) }, { [DBOS]: ratio(40, 0, 1) })).text).toContain(
      'NOTHING COMPARED',
    );
  });

  test('takes further rounds while a ratio is undecided or has too few', () => {
    const open = (fresh: Ratio) => isOpen(compareAll({ [DBOS]: ratio(40, 10) }, { [DBOS]: fresh }));
    expect(open(ratio(33))).toBe(true);
    expect(open(ratio(40, 0, 2))).toBe(true);
    expect(open(ratio(40))).toBe(false);
    expect(open(ratio(20))).toBe(false);
  });
});

test('the ratios are those of parts that ran in the same round, and are published', () => {
  const lines = [1, 2, 3].flatMap((round) => [
    ours('throughput', 4_000 * round, round),
    engine('dbos', 'direct', 'throughput', 100 * round, round),
    figure('limit', 'part_of_limit_ratio', round / 10, { by: 'nestjs-durable-saga' }, round),
    figure('limit', 'cpu_to_sql_ratio', round, { by: 'nestjs-durable-saga' }, round),
    figure('bare-commits', 'to_bare_ratio', 1 + round, { by: 'nestjs-durable-saga' }, round),
  ]);
  const compared = comparedOf([...lines, ours('throughput', 1, 4)]);
  expect(compared[DBOS]).toEqual({ median: 40, min: 40, max: 40, rounds: 3 });
  expect(compared[SQL]).toEqual({ median: 0.2, min: 0.1, max: 0.3, rounds: 3 });
  expect(Object.keys(compared)).toEqual(COMPARED.map(({ what }) => what));
  expect(figuresOf(lines)).toMatchObject({ compared });
});

describe('a run of the gate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const machine = { metric: 'machine', processors: 2, model: 'some' };
  /** Results of a run whose throughput is so many times that of DBOS, round by round. */
  const resultsOf = (name: string, times: readonly number[]) => {
    const lines = times.flatMap((value, n) => [
      ours('throughput', 100 * value, n + 1),
      engine('dbos', 'direct', 'throughput', 100, n + 1),
    ]);
    const path = join(folder, `${name}.jsonl`);
    writeFileSync(path, [machine, ...lines].map((line) => JSON.stringify(line)).join('\n'));
    return path;
  };
  const scheduled = (gate: InstanceType<typeof Gate>, results: string) => [
    ...gate.schedule({
      ...{ engines: [{ name: 'saga' }, { name: 'dbos' }], measures: [{ name: 'limit' }], rounds: 3 },
      ...{ quick: true, results },
      parts: {
        engine: ({ name }: { name: string }, _metric: string, _args: unknown, round: number) =>
          `${round} ${name}`,
        measure: ({ name }: { name: string }, round: number) => `${round} ${name}`,
      },
    }),
  ];
  const gate = new Gate(resultsOf('published', [35, 40, 45]));

  test('takes turns within each round, and ends after the rounds asked for if all is decided', () => {
    expect(scheduled(gate, resultsOf('same', [40, 40, 40]))).toEqual([
      ...['1 saga', '1 dbos', '1 limit', '2 dbos', '2 saga', '2 limit', '3 saga', '3 dbos', '3 limit'],
    ]);
  });

  test('has up to twice as many rounds while a ratio is undecided', () => {
    expect(scheduled(gate, resultsOf('undecided', [30, 34, 38])).at(-1)).toBe('6 limit');
  });

  test('compares with the run that it was given, and notes another machine', () => {
    const of = (name: string, times: readonly number[]) => gate.report(readLines([resultsOf(name, times)]));
    expect(of('slow', [20, 20, 20])).toMatchObject({ passes: false });
    expect(of('same', [40, 40, 40])).toMatchObject({ passes: true });
    expect(of('same', [40, 40, 40]).text).not.toContain('NOTE');
    const elsewhere = [{ ...machine, processors: 4 }, ours('throughput', 1)];
    expect(gate.report(elsewhere).text).toContain('NOTE: published on processors 2; this run on 4');
  });
});

test('the published figures have ratios that the gate can fail by', () => {
  const file = readFileSync(join(import.meta.dirname, '../../docs/performance.json'), 'utf8');
  const { compared } = JSON.parse(file) as { compared: Record<string, Ratio> };
  const halved = Object.entries(compared).map(([what, { median }]) => [what, ratio(median / 2)]);
  const rows = compareAll(compared, Object.fromEntries(halved) as Record<string, Ratio>);
  expect(rows.filter(({ result }) => result === 'fail').length).toBeGreaterThanOrEqual(2);
});
