// What is wanted, and whether it is so.
import { PEERS } from './engines.mjs';
import { spread, summaryText, table } from './format.mjs';
import { installedRuns } from './installed.mjs';
import { ofEngine, ofMeasure, ratios, valuesOf } from './lines.mjs';
import { memoryGoals } from './memory.mjs';
import { median } from './statistics.mjs';

const RULES = {
  '≥': (x, bound) => x >= bound,
  '≤': (x, bound) => x <= bound,
  '<': (x, bound) => x < bound,
};

/** The goals that have figures: { what, wanted, values, met }. The median counts. */
export function goalsOf(lines) {
  return [
    ...[...installedGoals(lines), ...engineGoals(ofEngine(lines)), ...measureGoals(ofMeasure(lines))]
      .filter(([, , , values]) => values.length > 0)
      .map(([what, rule, bound, values, tolerated = bound]) => ({
        what,
        wanted: `${rule} ${bound}`,
        values,
        met: RULES[rule](median(values), tolerated),
      })),
    ...memoryGoals(lines),
  ];
}

function installedGoals(lines) {
  return installedRuns(lines).flatMap(({ node, process, dbos, pgBoss }) => {
    const where = `as installed on Node ${node}, ${process === 'new' ? 'a new process' : process}`;
    return [
      [`${where}, times DBOS`, '≥', 30, dbos],
      [`${where}, times pg-boss with hand-written batches`, '≥', 2.5, pgBoss],
    ];
  });
}

/** [what, rule, bound, values]; a bound that is rounded is followed by the one that counts. */
function engineGoals(of) {
  const times = (metric, peer) => ratios(of('saga', metric), of(peer, metric));
  const field = (metric, name) => valuesOf(of('saga', metric), name);
  return [
    ['throughput, times DBOS', '≥', 30, times('throughput', 'dbos direct')],
    ['throughput, times pg-boss with hand-written batches', '≥', 2.5, times('throughput', 'pg-boss batch')],
    ['throughput, times naive `save()`', '≥', 8, times('throughput', 'naive save')],
    ['latency p50, part of DBOS’s', '≤', 0.3, times('latency_p50_ms', 'dbos direct')],
    ['latency p50, part of the best peer’s', '<', 1, toTheBest(of)],
    // Upkeep now and then is no transaction of a saga's.
    ['writing transactions per saga, unloaded', '≤', 4, field('latency_p50_ms', 'write_tx_per_saga'), 4.05],
    ['writing transactions per saga, loaded', '<', 0.2, field('throughput', 'write_tx_per_saga')],
    ['idle statements a second', '≤', 0.9, field('idle_stmts_per_s', 'value')],
  ];
}

/** For each round, the latency divided by the best latency of a peer in that round. */
function toTheBest(of) {
  return of('saga', 'latency_p50_ms').flatMap(({ round, value }) => {
    const others = PEERS.flatMap((peer) => of(peer, 'latency_p50_ms').filter((l) => l.round === round));
    return others.length > 0 ? [value / Math.min(...others.map((l) => l.value))] : [];
  });
}

function measureGoals(of) {
  const values = (measure, metric, params) => valuesOf(of(measure, metric, params));
  const processes = (count) => of('processes', 'sagas_per_s', { processes: count });
  return [
    ['p99 at half of the load, times p50', '≤', 3, values('half-load', 'p99_to_p50_ratio')],
    [
      'throughput at 2 ms from the database, part of that at 0 ms',
      '≥',
      0.8,
      values('distance', 'to_near_ratio', { delay_ms: 2, in_flight: 1_000 }),
    ],
    ['throughput of two processes, times one’s', '≥', 1, ratios(processes(2), processes(1))],
    ...shardGoals(values),
    ['throughput in grown tables, part of empty ones’', '≥', 0.95, values('grown', 'to_without_ratio')],
    [
      'throughput with 400 daily partitions, part of that with a few',
      '≥',
      0.95,
      values('partitions', 'to_without_ratio'),
    ],
    [
      'throughput at the end of a backlog of a million, part of that at its begin',
      '≥',
      0.95,
      values('backlog', 'last_to_first_ratio'),
    ],
    ...loadGoals(values),
    [
      'statements a second of one idle worker',
      '≤',
      0.9,
      values('idle', 'stmts_per_worker_per_s', { workers: 1 }),
    ],
    [
      'statements a second of one idle worker, a million sagas waiting',
      '≤',
      1,
      values('idle-waiting', 'stmts_per_s', { waiting: 1_000_000 }),
    ],
    ...failureGoals(values),
    ...stallGoals(values),
    ['first saga of a new process, ms over a warm one', '≤', 15, values('first-saga', 'over_warm_ms')],
    ['throughput, part of the server’s limit', '≥', 0.5, values('limit', 'part_of_limit_ratio')],
    ['latency p50 over four bare commits, ms', '≤', 2, values('bare-commits', 'over_bare_ms')],
    ...['held in the last step', 'running'].map((state) => [
      `memory beyond idle, MB, 5,000 sagas of 10 kB payloads ${state}`,
      '<',
      200,
      values('memory-in-flight', 'beyond_idle_mb', { state, sagas: 5_000, bytes: 10_000 }),
    ]),
  ];
}

function loadGoals(values) {
  const least = (metric, concurrency) => values('overload', metric, { concurrency });
  const [flight, arriving] = ['in_flight_least_ratio', 'arriving_least_ratio'];
  return ['default', '1000'].flatMap((concurrency) => [
    [
      `throughput behind its peak, part of it, 1 to 20,000 in flight, concurrency ${concurrency}`,
      '≥',
      0.9,
      least(flight, concurrency),
    ],
    [
      `throughput behind its peak, part of it, arrivals at 0.5 to 3 times it, concurrency ${concurrency}`,
      '≥',
      0.9,
      least(arriving, concurrency),
    ],
  ]);
}

/** The longest time that the event loop stood still: with large sagas, nothing may depend on their size. */
function stallGoals(values) {
  const longest = (measure, params) => values(measure, 'stall_max_ms', params);
  return [
    [
      'longest stall of the event loop, ms, a step over 100,000 items',
      '<',
      50,
      longest('fan-out', { items: 100_000 }),
    ],
    ['longest stall of the event loop, ms, sagas of 500 steps', '<', 50, longest('steps', { steps: 500 })],
    [
      'longest stall of the event loop, ms, results of 1 MB',
      '<',
      50,
      longest('payloads', { bytes: 1_000_000 }),
    ],
  ];
}

function shardGoals(values) {
  const of = (metric) => values('shards', metric, { kind: 'order', servers: 4, in_flight: 1_000 });
  return [
    ['CPU of an order on four servers, times one server’s at the same load', '≤', 1.1, of('cpu_ratio')],
    ['WAL of an order on four servers, times one server’s at the same load', '≤', 1.1, of('wal_ratio')],
  ];
}

function failureGoals(values) {
  const of = (kind, metric) => values('failure-costs', metric, { kind });
  return [
    ['WAL of a saga that rolls back, times one that completes', '≤', 1.5, of('compensated', 'wal_ratio')],
    ['CPU of a saga that rolls back, times one that completes', '≤', 1.6, of('compensated', 'cpu_ratio')],
    ['WAL of a retry, times a step', '≤', 1.2, of('retried', 'wal_ratio')],
    ['CPU of a retry, times a step', '≤', 1.2, of('retried', 'cpu_ratio')],
  ];
}

/** The goals of one run. */
export const goalsTable = (goals) =>
  tableOf(['goal', 'wanted', 'median (min–max)', ''], goals, ({ values, met }) => [
    spread(values),
    result(met),
  ]);

/** Published goals, each with the summary of its values, and the day. */
export const publishedGoalsTable = (goals) =>
  tableOf(['goal', 'wanted', 'median (min–max)', '', 'measured on'], goals, ({ met, day, ...summary }) => [
    summaryText(summary),
    result(met),
    day,
  ]);

const result = (met) => (met ? 'PASS' : '**MISS**');

function tableOf(head, goals, cells) {
  const rows = goals.map((goal) => [goal.what, goal.wanted, ...cells(goal)]);
  return rows.length > 0 ? table(head, rows) : undefined;
}
