// The engines side by side.
import { spread, table } from './format.mjs';
import { ofEngine, valuesOf } from './lines.mjs';

export const NAMES = {
  saga: 'nestjs-durable-saga',
  'dbos direct': 'DBOS direct',
  'naive save': 'naive TypeORM, `save()`',
  'naive lean': 'naive TypeORM, lean SQL',
  'pg-boss batch': 'pg-boss, hand-written batches',
  'pg-boss perjob': 'pg-boss, job by job',
  'graphile-worker batched': 'graphile-worker, batched',
  'saga-on-restate outcome': 'nestjs-durable-saga on Restate',
  'restate call': 'Restate',
  'saga-on-restate 3 nodes': 'nestjs-durable-saga on Restate, three nodes',
  'restate 3 nodes': 'Restate, three nodes',
  'openworkflow ': 'openworkflow',
  'pg-workflows ': 'pg-workflows',
};
export const ENGINES = Object.keys(NAMES);
/** The engines of others. */
export const PEERS = ENGINES.filter((name) => !name.startsWith('saga'));

const HEAD = [
  'engine and settings',
  'sagas/s',
  'writing tx per saga, loaded',
  'statements per saga',
  'WAL bytes per saga',
  'CPU of Node, µs per saga',
  'CPU of the server, µs per saga',
  'latency p50 ms, unloaded',
  'p99 ms',
  'writing tx per saga, unloaded',
  'idle statements/s',
];

/** Undefined without any line of them. */
export function enginesTable(lines) {
  const of = ofEngine(lines);
  const rows = ENGINES.flatMap((engine) => rowOf(of, engine));
  return rows.length > 0 ? table(HEAD, rows) : undefined;
}

function rowOf(of, engine) {
  const [load, latency, idle] = ['throughput', 'latency_p50_ms', 'idle_stmts_per_s'].map((m) =>
    of(engine, m),
  );
  const [any] = [...load, ...latency, ...idle];
  if (!any) return skippedRow(of(engine, 'skipped'), engine);
  const column = (from, field) => spread(valuesOf(from, field));
  const settings = Object.entries(any.settings).map(([name, value]) => `${name} ${value}`);
  return [
    [
      `${NAMES[engine]} ${any.version.replace('typeorm ', '')}; ${settings.join(', ')}`,
      column(load, 'value'),
      column(load, 'write_tx_per_saga'),
      column(load, 'stmts_per_saga'),
      column(load, 'wal_bytes_per_saga'),
      column(load, 'node_cpu_us_per_saga'),
      column(load, 'server_cpu_us_per_saga'),
      column(latency, 'value'),
      column(latency, 'p99'),
      column(latency, 'write_tx_per_saga'),
      column(idle, 'value'),
    ],
  ];
}

/** A row without figures, with the reason. */
function skippedRow([skipped], engine) {
  return skipped ? [[`${NAMES[engine]}: skipped, ${skipped.reason}`, ...HEAD.slice(1).map(() => '')]] : [];
}
