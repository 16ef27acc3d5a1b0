// Servers that an application uses together: one, or several as shards.
import { delta, snapshot } from '../../lib/counters.mjs';
import { admin, connect } from '../../lib/database.mjs';
import { serverCpu } from '../../lib/server-cpu.mjs';

const SYSTEM_DATABASE = 'postgres';
const DATABASE = 'bench';

/** Commits of servers are those of one database each: there is nothing else on them. */
export class Servers {
  /** @param started what startServer() gives for each */
  constructor(started) {
    this.started = started;
  }

  /** Those of the databases. */
  get urls() {
    return this.started.map(({ url }) => url.replace(new RegExp(`/${SYSTEM_DATABASE}$`), `/${DATABASE}`));
  }

  async prepare() {
    for (const { url } of this.started) {
      for (const extension of ['pg_stat_statements', 'pg_walinspect'])
        await admin(`CREATE EXTENSION ${extension}`, undefined, url);
      await admin(`CREATE DATABASE ${DATABASE}`, undefined, url);
    }
    for (const url of this.urls)
      await admin(
        'CREATE TABLE shop_order (id uuid PRIMARY KEY, status text, tracking_number text)',
        undefined,
        url,
      );
  }

  counted() {
    return Promise.all(
      this.started.map(async ({ url }) => {
        const [{ lsn }] = await admin('SELECT pg_current_wal_insert_lsn() AS lsn', undefined, url);
        return { lsn, counters: await snapshot(DATABASE, url), cpu: await serverCpu(url) };
      }),
    );
  }

  /** What all servers together have used since then. Bytes of the log are without images of pages. */
  async since(before) {
    const after = await this.counted();
    const used = { commits: 0, fsyncs: 0, records: 0, cpu: 0 };
    for (const [n, { url }] of this.started.entries()) {
      const counters = delta(before[n].counters, after[n].counters);
      used.commits += counters.xid;
      used.fsyncs += counters.fsyncs;
      used.records += await recordBytes(url, before[n].lsn, after[n].lsn);
      used.cpu += after[n].cpu === undefined ? NaN : after[n].cpu - before[n].cpu;
    }
    return used;
  }

  /** Whether they have all sagas, completed, and each server its share of them. */
  async allThere(expected) {
    const found = await Promise.all(this.urls.map(countedOn));
    let complete = true;
    for (const [kind, steps] of Object.entries({ plain: 3, order: 5 })) {
      const counts = found.map((on) => on[kind] ?? { sagas: 0, steps: 0 });
      const sum = (what) => counts.reduce((total, count) => total + count[what], 0);
      const enough = (expected[kind] / counts.length) * 0.8;
      if (sum('sagas') === expected[kind] && sum('steps') === steps * expected[kind])
        if (counts.every(({ sagas }) => sagas >= enough)) continue;
      complete = false;
      console.error(`${expected[kind]} sagas ${kind} should be there: ${JSON.stringify(counts)}`);
    }
    return complete;
  }

  async stop() {
    for (const server of this.started) await server.stop();
  }
}

/** How many images of pages there are depends on when the last checkpoint was, and not on what is measured. */
async function recordBytes(url, from, to) {
  const [{ records }] = await admin(
    'SELECT sum(record_size)::float8 AS records FROM pg_get_wal_stats($1, $2)',
    [from, to],
    url,
  );
  return records;
}

/** { plain: { sagas, steps }, order: … } of what has completed. */
async function countedOn(url) {
  const c = await connect(url);
  const { rows } = await c.query(
    `SELECT i.name, count(*)::int AS sagas, sum(steps)::int AS steps
     FROM saga.instance i
     JOIN (SELECT saga_id, count(*) AS steps FROM saga.step WHERE status = 'completed' GROUP BY saga_id) s ON s.saga_id = i.id
     WHERE i.status = 'completed' AND (i.name <> 'order' OR EXISTS (
       SELECT FROM shop_order o WHERE o.id = i.id AND o.status = 'confirmed'))
     GROUP BY i.name`,
  );
  await c.end();
  return Object.fromEntries(rows.map(({ name, sagas, steps }) => [name, { sagas, steps }]));
}
