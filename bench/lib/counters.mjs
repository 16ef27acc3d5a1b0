// What the server counts, and what of it a saga costs.
import { admin } from './database.mjs';
import { round } from './figures.mjs';

/**
 * The server's counters for one database. `xid` counts transactions that wrote, `wal` bytes.
 * @param url of another server than that of PGURL
 */
export async function snapshot(db, url) {
  const [row] = await admin(
    `WITH s AS (
       SELECT calls, query FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1))
     SELECT (SELECT xact_rollback FROM pg_stat_database WHERE datname = $1)::bigint AS rollbacks,
       pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal,
       (SELECT coalesce(sum(calls), 0) FROM s)::bigint AS stmts,
       (SELECT coalesce(sum(calls), 0) FROM s
         WHERE query ~* '^\\s*(begin|start transaction|commit|rollback)')::bigint AS txstmts,
       (SELECT coalesce(sum(fsyncs), 0) FROM pg_stat_io
         WHERE object = 'wal' AND context = 'normal')::bigint AS fsyncs,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid`,
    [db],
    url,
  );
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, Number(value)]));
}

export const delta = (a, b) => Object.fromEntries(Object.keys(a).map((key) => [key, b[key] - a[key]]));

/** @param ran n sagas in `secs`, for which Node took `cpu` seconds */
export function costs(ran, used) {
  return {
    n: ran.n,
    secs: round(ran.secs, 3),
    write_tx_per_saga: round(used.xid / ran.n, 3),
    stmts_per_saga: round(used.stmts / ran.n, 3),
    begin_commit_stmts_per_saga: round(used.txstmts / ran.n, 3),
    wal_bytes_per_saga: Math.round(used.wal / ran.n),
    wal_fsyncs_per_saga: round(used.fsyncs / ran.n, 3),
    rollbacks: used.rollbacks,
    node_cpu_s: round(ran.cpu),
  };
}
