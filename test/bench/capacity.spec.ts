import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { capacitySections, compact, costOf, simulatedRate, withFigures } from './bench.js';

const read = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');

const row = (params: object, figures: Record<string, number>) => ({
  ...params,
  figures: Object.fromEntries(Object.entries(figures).map(([name, median]) => [name, { median }])),
});
const load = (in_flight: number, sagas_per_s: number, node: number, server: number) =>
  row({ in_flight }, { sagas_per_s, node_cpu_us_per_saga: node, server_cpu_us_per_saga: server });
const FIGURES = {
  measures: {
    'in-flight': [load(1, 500, 400, 600), load(1_000, 20_000, 50, 40), load(5_000, 15_000, 80, 40)],
    steps: [
      row({ steps: 3 }, { wal_bytes_per_saga: 1_500, steps_per_s: 100 }),
      row({ steps: 13 }, { wal_bytes_per_saga: 5_500, steps_per_s: 200 }),
    ],
  },
  beside: [
    { measures: { costs: [row({}, { wal_bytes_per_saga: 2_000 }), row({}, { wal_bytes_per_saga: 1_000 })] } },
  ],
};

test('the page shows what the published figures give', () => {
  const page = read('capacity.md');
  const sections = capacitySections(JSON.parse(read('performance.json')) as object);
  for (const name of Object.keys(sections)) expect(page).toContain(`<!-- figures:${name} -->`);
  expect(compact(withFigures(page, sections))).toBe(compact(page));
});

test('servers are half busy, and CPU is that of sagas that share statements, and of those alone', () => {
  const { rates } = capacitySections(FIGURES);
  expect(rates!.split('\n').slice(2)).toEqual([
    '| WAL, MB/s | 2 | 40 | 400 |',
    '| WAL, TB a day | 0.17 | 3.46 | 34.6 |',
    '| CPU of PostgreSQL, processors busy in all | 0.04 to 0.6 | 0.8 to 12 | 8 to 120 |',
    '| CPU of Node, processors busy in all | 0.05 to 0.4 | 1 to 8 | 10 to 80 |',
    '| PostgreSQL servers of two processors | 1 | 2 | 20 |',
    '| Node processes | 1 | 2 to 16 | 20 to 160 |',
    '| connections on each server | 11 | 22 to 176 | 220 to 1,760 |',
  ]);
});

test('a further step is what longer sagas have beyond the shortest', () => {
  expect(capacitySections(FIGURES).steps).toContain('| 13 | 400 | 200 |');
});

test('distances are shown that were measured with one saga and with many', () => {
  const at = (delay_ms: number, in_flight: number, figures: Record<string, number>) =>
    row({ delay_ms, in_flight }, figures);
  const distance = [at(0, 1, { p50_ms: 1 }), at(0, 1_000, { to_near_ratio: 1 }), at(0.2, 1, { p50_ms: 2 })];
  expect(capacitySections({ measures: { distance } }).distance!.split('\n').slice(2)).toEqual([
    '| 0 | 1 | 1 |',
  ]);
  expect(capacitySections({ measures: {} })).toEqual({
    rates: 'No run is published yet.',
    steps: 'No run is published yet.',
    distance: 'No run is published yet.',
    processors: 'No run is published yet.',
  });
});

describe('the simulation of queues', () => {
  /** µs; a saga has four statements. */
  const costs = { node: { fixed: 200, each: 20 }, server: { fixed: 250, each: 10 }, flush: 400 };
  const rate = (processes: number, processors: number, inFlight = 1_000, given = costs) =>
    simulatedRate({ processes, processors, inFlight }, given);

  test('one process with enough processors is as fast as its Node', () => {
    // Turns of 200 sagas.
    const bound = 1e6 / 4 / (20 + 200 / 200);
    expect(rate(1, 8) / bound).toBeCloseTo(1, 1);
    expect(rate(1, 4)).toBe(rate(1, 8));
  });

  test('no load is faster than all processors together, and more processors are never slower', () => {
    const bound = 1e6 / 4 / (20 + 10);
    for (const processes of [1, 2, 4, 8]) {
      for (const processors of [1, 2, 4])
        expect(rate(processes, processors)).toBeLessThan(bound * processors);
      expect(rate(processes, 4)).toBeGreaterThanOrEqual(rate(processes, 2));
    }
    expect(rate(4, 4) / (4 * bound)).toBeGreaterThan(0.9);
  });

  test('one saga at a time waits for everything, one after the other', () => {
    expect(rate(1, 4, 1)).toBeCloseTo(1e6 / 4 / (220 + 260 + 400), -1);
  });

  test('commits that wait for a slow disk share its flushes', () => {
    const slow = { ...costs, flush: 10_000 };
    expect(rate(1, 4, 100, slow)).toBeGreaterThan(1_000);
    expect(rate(1, 4, 1, slow)).toBeLessThan(25);
  });

  test('costs are those of a saga alone, and those of one among many', () => {
    const { fixed, each } = costOf(1_000, 60);
    expect(fixed + each).toBeCloseTo(250);
    expect(fixed / 200 + each).toBeCloseTo(15);
  });
});
