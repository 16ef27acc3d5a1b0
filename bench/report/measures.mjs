// A table for each measure of the suite: a row for each value of its parameter, a column for each metric.
import { number, spread, table } from './format.mjs';
import { ofMeasure, valuesOf } from './lines.mjs';

const COSTS = [
  ['write_tx_per_saga', 'writing tx per saga'],
  ['stmts_per_saga', 'statements per saga'],
  ['wal_bytes_per_saga', 'WAL bytes per saga'],
  ['node_cpu_us_per_saga', 'CPU of Node, µs per saga'],
  ['server_cpu_us_per_saga', 'CPU of PostgreSQL, µs per saga'],
];
const RATE = ['sagas_per_s', 'sagas/s'];
const STALLS = [
  ['stall_p99_ms', 'stalls of the event loop p99 ms'],
  ['stall_max_ms', 'longest stall ms'],
];
const LATENCY = [
  ['p50_ms', 'p50 ms'],
  ['p99_ms', 'p99 ms'],
  ['p999_ms', 'p99.9 ms'],
];

/**
 * @property rows the parameter that tells rows apart, and its name in the table; without it there is one row
 * @property most rows that are shown; default MOST_ROWS, evenly apart
 */
export const TABLES = [
  {
    name: 'in-flight',
    title: 'Sagas in flight',
    rows: ['in_flight', 'in flight'],
    columns: [RATE, ...LATENCY, ...COSTS.slice(3), ...STALLS],
  },
  {
    name: 'overload',
    title: 'Overload',
    rows: ['concurrency', '`worker.concurrency`'],
    columns: [
      ['in_flight_least_ratio', '1 to 20,000 in flight: the least behind the best, part of it'],
      ['arriving_least_ratio', 'arrivals at 0.5 to 3 times the best: the least behind the best, part of it'],
    ],
  },
  {
    name: 'half-load',
    title: 'Latency at half of the load',
    columns: [
      ['full_sagas_per_s', 'sagas/s at full load'],
      ['sagas_per_s', 'sagas/s arriving'],
      ...LATENCY,
      ['p99_to_p50_ratio', 'p99, times p50'],
      ...STALLS,
    ],
  },
  {
    name: 'distance',
    title: 'A database further away',
    rows: ['link', 'added to each round trip, and load'],
    most: Infinity,
    columns: [
      ['round_trip_ms', 'round trip p50 ms'],
      RATE,
      ['to_near_ratio', 'part of the rate with 0 ms'],
      ...LATENCY.slice(0, 2),
      ...STALLS,
    ],
  },
  {
    name: 'processes',
    title: 'Worker processes',
    rows: ['processes', 'processes'],
    columns: [RATE, ...STALLS],
  },
  {
    name: 'shards',
    title: 'Shards',
    rows: ['load', 'sagas'],
    columns: [
      RATE,
      COSTS[0],
      ['wal_fsyncs_per_saga', 'syncs of the WAL per saga'],
      ['record_bytes_per_saga', 'WAL bytes per saga, without images of pages'],
      ...COSTS.slice(3),
      ['cpu_ratio', 'CPU of both, ratio'],
      ['wal_ratio', 'WAL ratio'],
      ['commits_ratio', 'writing tx, ratio'],
    ],
  },
  {
    name: 'steps',
    title: 'Short and long sagas',
    rows: ['steps', 'steps'],
    columns: [RATE, ['steps_per_s', 'steps/s'], COSTS[2], ...STALLS],
  },
  {
    name: 'fan-out',
    title: 'Steps over many items',
    rows: ['items', 'items'],
    columns: [
      ['items_per_s', 'items/s'],
      ['saga_ms', 'ms of the saga'],
      ...STALLS,
      ['peak_rss_mb', 'peak RSS MB'],
      ['wal_bytes_per_item', 'WAL bytes per item'],
    ],
  },
  {
    name: 'payloads',
    title: 'Payloads',
    rows: ['bytes', 'bytes of the input, and of each result'],
    columns: [RATE, ['mb_per_s', 'MB/s'], COSTS[2], ...STALLS],
  },
  { name: 'compensation', title: 'Compensation', columns: [RATE, ...COSTS, ...STALLS] },
  { name: 'retry-storm', title: 'Retries', columns: [RATE, ...COSTS, ...STALLS] },
  {
    name: 'failure-costs',
    title: 'What failures cost',
    rows: ['kind', 'sagas'],
    columns: [
      ['record_bytes_per_saga', 'WAL bytes per saga, without images of pages'],
      ...COSTS.slice(3),
      ['wal_ratio', 'WAL ratio'],
      ['cpu_ratio', 'CPU ratio'],
    ],
  },
  {
    name: 'waiting-half',
    title: 'Half of them waiting',
    rows: ['waiting', 'sagas that wait'],
    columns: [
      ['without_sagas_per_s', 'sagas/s without'],
      RATE,
      ['to_without_ratio', 'part of the rate without'],
      ...STALLS,
    ],
  },
  {
    name: 'backlog',
    title: 'A backlog',
    rows: ['due', 'sagas due'],
    columns: [
      ['first_sagas_per_s', 'sagas/s at first'],
      ['last_sagas_per_s', 'sagas/s in the end'],
      ['last_to_first_ratio', 'ratio'],
      ['claims_per_saga', 'claims per saga'],
      ...STALLS,
    ],
  },
  {
    name: 'grown',
    title: 'Grown tables',
    rows: ['finished', 'finished sagas in the tables'],
    columns: [
      ['without_sagas_per_s', 'sagas/s in empty tables'],
      RATE,
      ['to_without_ratio', 'part of the rate in empty ones'],
      ...STALLS,
    ],
  },
  {
    name: 'partitions',
    title: 'Hundreds of partitions',
    rows: ['days', 'partitions, one a day'],
    columns: [
      ['without_sagas_per_s', 'sagas/s with those of this week'],
      RATE,
      ['to_without_ratio', 'part of the rate with those of this week'],
      ...STALLS,
    ],
  },
  {
    name: 'idle',
    title: 'Nothing to do',
    rows: ['workers', 'workers'],
    columns: [
      ['stmts_per_s', 'statements/s'],
      ['stmts_per_worker_per_s', 'statements/s of each'],
      ['node_cpu_pct', 'CPU of Node, %'],
      ['server_cpu_pct', 'CPU of PostgreSQL, %'],
    ],
  },
  {
    name: 'idle-waiting',
    title: 'Nothing to do, while sagas wait',
    rows: ['waiting', 'sagas that wait'],
    columns: [['stmts_per_s', 'statements/s of one worker']],
  },
  {
    name: 'costs',
    title: 'What a saga costs',
    rows: ['in_flight', 'in flight'],
    columns: [
      ...COSTS,
      ['rows_written_per_saga', 'rows written per saga'],
      ['hot_pct', 'HOT, % of updates'],
      ['dead_rows_per_saga', 'dead rows per saga'],
      ['index_bytes_per_saga', 'index bytes per saga'],
      ...STALLS,
    ],
  },
  {
    name: 'start-up',
    title: 'Starting an application',
    rows: ['sagas', 'sagas'],
    columns: [
      ['first_start_ms', 'the very first start, ms'],
      ['start_ms', 'start, ms'],
      ['without_ms', 'without the engine, ms'],
      ['beside_ms', 'difference, ms'],
    ],
  },
  {
    name: 'profile',
    title: 'Where the time goes',
    rows: ['where', 'where'],
    most: Infinity,
    columns: [
      ['us_per_saga', 'µs per saga that completes'],
      ['share_pct', '% of the time'],
      ['compensated_us_per_saga', 'µs per saga that rolls back'],
      ['retried_us_per_saga', 'µs per saga with six retries'],
    ],
  },
  {
    name: 'warm-up',
    title: 'A new process',
    rows: ['after_ms', 'ms after the load began'],
    most: Infinity,
    columns: [
      RATE,
      ['node_cpu_pct', 'CPU of Node, %'],
      ['collecting_pct', 'of the time, Node collects garbage, %'],
    ],
  },
  {
    name: 'first-saga',
    title: 'The first saga of a new process',
    columns: [
      ['first_ms', 'the first saga, ms'],
      ['after_300_ms', 'p50 after 300 sagas, ms'],
      ['warm_ms', 'p50 after 1,600 sagas, ms'],
      ['over_warm_ms', 'the first one, longer by, ms'],
    ],
  },
  {
    name: 'limit',
    title: 'The limit of the server',
    rows: ['by', 'written by'],
    columns: [
      RATE,
      ['part_of_limit_ratio', 'part of the limit'],
      ['cpu_us_per_saga', 'CPU of Node and PostgreSQL, µs per saga'],
      ['cpu_to_sql_ratio', 'CPU, times the least by SQL alone'],
      ...STALLS,
    ],
  },
  {
    name: 'bare-commits',
    title: 'Bare commits',
    rows: ['by', 'what'],
    columns: [
      ['p50_ms', 'p50 ms'],
      ['over_bare_ms', 'over the bare commits, ms'],
      ['to_bare_ratio', 'times the bare commits'],
    ],
  },
  {
    name: 'memory-in-flight',
    title: 'Memory of large payloads',
    rows: ['state', 'state of the process'],
    columns: [
      ['heap_mb', 'heap MB'],
      ['external_mb', 'external MB'],
      ['rss_mb', 'RSS MB'],
      ['beyond_idle_mb', 'heap and external, beyond idle, MB'],
      ['payload_mb', 'of which payloads MB'],
      RATE,
      ...STALLS,
    ],
  },
  {
    name: 'soak',
    title: 'A long time',
    rows: ['minute', 'minute'],
    columns: [['heap_mb', 'heap after GC MB'], ['rss_mb', 'RSS MB'], ...STALLS],
  },
];
/** Rows at most: of more, as many are shown, evenly apart. */
const MOST_ROWS = 12;

/** A table for one of TABLES. Undefined without any line of it. */
export function measureTable(lines, { name, rows, columns, most = MOST_ROWS }) {
  const of = ofMeasure(lines);
  const own = of(name);
  const keys = rows ? keysOf(own, rows[0]) : own.length > 0 ? [undefined] : [];
  if (keys.length === 0) return undefined;
  const cells = (key) =>
    columns.map(([metric]) => spread(valuesOf(of(name, metric, rows ? { [rows[0]]: key } : {}))));
  const shownKey = (key) => (typeof key === 'number' ? number(key) : key);
  return table(
    [...(rows ? [rows[1]] : []), ...columns.map(([, label]) => label)],
    thinned(keys, most).map((key) => [...(rows ? [shownKey(key)] : []), ...cells(key)]),
  );
}

/** In the order in which they come. */
export const keysOf = (lines, param) =>
  [...new Set(lines.map((l) => l[param]))].filter((k) => k !== undefined);

function thinned(keys, most) {
  if (keys.length <= most) return keys;
  const at = (k) => keys[Math.round((k * (keys.length - 1)) / (most - 1))];
  return Array.from({ length: most }, (_, k) => at(k));
}
