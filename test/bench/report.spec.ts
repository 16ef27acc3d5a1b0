import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { figuresOf, goalsOf, type Line, number, readLines, report, spread, tablesOf } from './bench.js';
import { engine, figure, ours } from './lines.js';

describe('figures', () => {
  test.each([
    [12_345.6, '12,346'],
    [99.44, '99.4'],
    [1.005, '1.01'],
    [0.0046, '0.0046'],
    [0, '0'],
    [-1.1, '-1.1'],
  ])('%p is shown as %p', (value, shown) => expect(number(value)).toBe(shown));

  test.each([
    [[], ''],
    [[3], '3'],
    [[3, 1, 2], '2 (1–3)'],
    [[4, 1, 2, 3], '2.5 (1–4)'],
    [[2.001, 2.002], '2'],
  ])('several (%p) are their median, with the least and the most: %p', (values, shown) =>
    expect(spread(values)).toBe(shown),
  );
});

describe('goals', () => {
  const metOf = (lines: readonly Line[]) =>
    Object.fromEntries(goalsOf(lines).map(({ what, met }) => [what, met]));

  test('are only those that there are figures for', () => {
    expect(goalsOf([])).toEqual([]);
    expect(goalsOf([ours('idle_stmts_per_s', 0.2)]).map(({ what }) => what)).toEqual([
      'idle statements a second',
    ]);
  });

  test.each([
    ['half-load', 'p99_to_p50_ratio', {}, 3, 3.01],
    ['distance', 'to_near_ratio', { delay_ms: 2, in_flight: 1_000 }, 0.8, 0.79],
    [
      'memory-in-flight',
      'beyond_idle_mb',
      { state: 'held in the last step', sagas: 5_000, bytes: 10_000 },
      199.9,
      200,
    ],
    ['shards', 'cpu_ratio', { kind: 'order', servers: 4, in_flight: 1_000 }, 1.1, 1.11],
    ['shards', 'wal_ratio', { kind: 'order', servers: 4, in_flight: 1_000 }, 1.1, 1.11],
    ['grown', 'to_without_ratio', {}, 0.95, 0.94],
    ['partitions', 'to_without_ratio', {}, 0.95, 0.94],
    ['backlog', 'last_to_first_ratio', {}, 0.95, 0.94],
    ['first-saga', 'over_warm_ms', {}, 15, 15.1],
    ['overload', 'in_flight_least_ratio', { concurrency: 'default' }, 0.9, 0.89],
    ['overload', 'arriving_least_ratio', { concurrency: '1000' }, 0.9, 0.89],
    ['fan-out', 'stall_max_ms', { items: 100_000 }, 49.9, 50],
    ['steps', 'stall_max_ms', { steps: 500 }, 49.9, 50],
    ['payloads', 'stall_max_ms', { bytes: 1_000_000 }, 49.9, 50],
    ['idle', 'stmts_per_worker_per_s', { workers: 1 }, 0.9, 0.91],
    ['limit', 'part_of_limit_ratio', {}, 0.5, 0.49],
    ['bare-commits', 'over_bare_ms', {}, 2, 2.01],
  ])(
    '%s: the last value that meets it, and the first that does not',
    (measure, metric, params, good, bad) => {
      expect(goalsOf([figure(measure, metric, good, params)])).toMatchObject([{ met: true }]);
      expect(goalsOf([figure(measure, metric, bad, params)])).toMatchObject([{ met: false }]);
    },
  );

  test('go by the median', () => {
    const lines = [0.1, 0.5, 0.6].map((value, n) => figure('limit', 'part_of_limit_ratio', value, {}, n + 1));
    expect(goalsOf(lines)).toMatchObject([{ met: true, values: [0.1, 0.5, 0.6] }]);
  });

  test('compare what is of one round', () => {
    const rate = (processes: number, value: number, round: number) =>
      figure('processes', 'sagas_per_s', value, { processes }, round);
    const lines = [rate(1, 100, 1), rate(2, 110, 1), rate(1, 1_000, 2), rate(2, 1_050, 2), rate(2, 1, 3)];
    expect(goalsOf(lines)).toMatchObject([{ values: [1.1, 1.05], met: true }]);
  });

  test('of the idle ask one worker, not fifty', () => {
    expect(goalsOf([figure('idle', 'stmts_per_worker_per_s', 5, { workers: 50 })])).toEqual([]);
  });

  test('beside the engines', () => {
    const lines = [
      ours('throughput', 3_000),
      engine('dbos', 'direct', 'throughput', 100),
      engine('pg-boss', 'batch', 'throughput', 1_201),
      ours('latency_p50_ms', 2, 1, { write_tx_per_saga: 4.04 }),
      engine('dbos', 'direct', 'latency_p50_ms', 7),
    ];
    expect(metOf(lines)).toEqual({
      'throughput, times DBOS': true,
      'throughput, times pg-boss with hand-written batches': false,
      'latency p50, part of DBOS’s': true,
      'latency p50, part of the best peer’s': true,
      'writing transactions per saga, unloaded': true,
    });
  });

  test('of memory look at the trend, without the first slice', () => {
    const soak = (values: readonly number[]) =>
      values.map((value, minute) => figure('soak', 'heap_mb', value, { minute }));
    expect(goalsOf(soak([90, 30, 30, 31, 30]))).toMatchObject([{ met: true }]);
    expect(goalsOf(soak([30, 30, 31, 32, 33]))).toMatchObject([{ met: false }]);
    expect(goalsOf(soak([30, 30, 30]))).toEqual([]);
  });
});

describe('the report', () => {
  test('has a row for each engine and each value of a parameter, and counts what was missed', () => {
    const { text, missed, incomplete } = report([
      ours('throughput', 6_000, 1),
      ours('throughput', 7_000, 2),
      engine('dbos', 'direct', 'throughput', 300),
      figure('in-flight', 'sagas_per_s', 5_000, { in_flight: 100 }),
      figure('in-flight', 'p99_ms', 31.4, { in_flight: 100 }),
      figure('in-flight', 'sagas_per_s', 6_000, { in_flight: 1_000 }),
    ]);
    expect(text).toContain('| nestjs-durable-saga 1.0.0; pool 10 | 6,500 (6,000–7,000) |');
    expect(text).toContain('| DBOS direct 1.0.0; pool 10 | 300 |');
    expect(text).toContain('| 100 | 5,000 |  | 31.4 |');
    expect(text).toContain('| 1,000 | 6,000 |');
    expect(text).toContain('| throughput, times DBOS | ≥ 30 | 20 | **MISS** |');
    expect({ missed, incomplete }).toEqual({ missed: 1, incomplete: 0 });
  });

  test('names once a round what did not complete', () => {
    const { text, incomplete } = report([
      figure('limit', 'sagas_per_s', 1, { complete: false }),
      figure('limit', 'part_of_limit_ratio', 1, { complete: false }),
      ours('throughput', 1, 2, { complete: false }),
    ]);
    expect(incomplete).toBe(2);
    expect(text).toContain('INCOMPLETE: limit, round 1');
    expect(text).toContain('INCOMPLETE: throughput of saga outcome, round 2');
  });

  test('has a row with the reason for an engine that was skipped, and no figures of it', () => {
    const skipped = { engine: 'restate', variant: 'call', metric: 'skipped', reason: 'no server', round: 1 };
    const lines = [ours('latency_p50_ms', 2), skipped];
    expect(report(lines)).toMatchObject({ incomplete: 0, missed: 0 });
    expect(report(lines).text).toContain('| Restate: skipped, no server |');
    expect(figuresOf(lines).engines).toMatchObject([{ engine: 'saga' }]);
    expect(report([...lines, engine('restate', 'call', 'throughput', 400)]).text).toContain(
      '| Restate 1.0.0; pool 10 | 400 |',
    );
  });

  test('has no table for what was not measured', () => expect(tablesOf([])).toEqual([]));

  test('says of a short run that it is one', () => {
    const machine = {
      ...{ metric: 'machine', quick: true, version: '1.0.0', processors: 2, model: 'some' },
      ...{ memory_gb: 8, system: 'linux x64', node: '22.0.0', postgres: '18.1', at: '2026-01-02T03:04:05Z' },
    };
    const [table] = tablesOf([machine]);
    expect(table!.text).toContain('Node 22.0.0 and PostgreSQL 18.1');
    expect(table!.text).toContain('to be replaced');
    expect(tablesOf([{ ...machine, quick: false }])[0]!.text).not.toContain('to be replaced');
  });
});

test('rounds of several runs are kept apart', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const files = [5, 10].map((times, n) => {
    const lines = [ours('throughput', 1_000 * times), engine('dbos', 'direct', 'throughput', 1_000)];
    const path = join(folder, `${n}.jsonl`);
    writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
    return path;
  });
  expect(goalsOf(readLines(files))).toMatchObject([{ values: [5, 10] }]);
  rmSync(folder, { recursive: true });
});

test('as data, every figure has its median and its spread', () => {
  const { engines, measures } = figuresOf([
    ours('throughput', 6_000, 1, { wal_bytes_per_saga: 2_000 }),
    ours('throughput', 7_000, 2, { wal_bytes_per_saga: 2_000 }),
    figure('steps', 'sagas_per_s', 100, { steps: 3, n: 10 }, 1),
    figure('steps', 'sagas_per_s', 300, { steps: 3, n: 11 }, 2),
    figure('steps', 'sagas_per_s', 50, { steps: 10 }),
  ]);
  expect(engines).toMatchObject([
    {
      engine: 'saga',
      metrics: {
        throughput: {
          value: { median: 6_500, min: 6_000, max: 7_000, rounds: 2 },
          wal_bytes_per_saga: { median: 2_000 },
        },
      },
    },
  ]);
  expect(measures).toMatchObject({
    steps: [
      { steps: 3, figures: { sagas_per_s: { median: 200, min: 100, max: 300, rounds: 2 } } },
      { steps: 10, figures: { sagas_per_s: { median: 50, rounds: 1 } } },
    ],
  });
});

describe('the library as installed', () => {
  const installed = (
    name: string,
    variant: string,
    value: number,
    node: string,
    round = 1,
    metric = 'throughput',
  ) => engine(name, variant, metric, value, round, { installed: true, node });
  const lines = [
    ...[1, 2, 3].flatMap((round) => [
      installed('saga', 'outcome', 4_000 * round, '22.1.0', round),
      installed('dbos', 'direct', 100 * round, '22.1.0', round),
      installed('pg-boss', 'batch', 2_000, '22.1.0', round),
    ]),
    installed('saga', 'outcome', 900, '24.1.0'),
    installed('dbos', 'direct', 100, '24.1.0'),
    installed('saga', 'outcome', 9_000, '22.1.0', 1, 'throughput_in_service'),
    installed('pg-boss', 'batch', 3_000, '22.1.0', 1, 'throughput_in_service'),
  ];

  test('is compared with the peers on the same Node, round by round', () => {
    const { text } = tablesOf(lines).find(({ name }) => name === 'installed')!;
    expect(text).toContain('| 22.1.0 | new | 8,000 (4,000–12,000) | 40 | 4 (2–6) |');
    expect(text).toContain('| 22.1.0 | in service | 9,000 |  | 3 |');
    expect(text).toContain('| 24.1.0 | new | 900 | 9 |  |');
    expect(goalsOf(lines).map(({ what, met }) => [what, met])).toEqual([
      ['as installed on Node 22.1.0, a new process, times DBOS', true],
      ['as installed on Node 22.1.0, a new process, times pg-boss with hand-written batches', true],
      ['as installed on Node 22.1.0, in service, times pg-boss with hand-written batches', true],
      ['as installed on Node 24.1.0, a new process, times DBOS', false],
    ]);
  });

  test('is not mixed with the engines in their best settings', () => {
    expect(tablesOf(lines).map(({ name }) => name)).toEqual(['installed', 'goals']);
  });
});
