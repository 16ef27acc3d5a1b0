// What sagas cost, counted around a piece of work.
import { delta, snapshot } from '../lib/counters.mjs';
import { admin } from '../lib/database.mjs';
import { sleep } from '../lib/figures.mjs';
import { serverCpu } from '../lib/server-cpu.mjs';

/** @param work gives { n, secs, cpu, … }; what it gives, with `costs` of each saga */
export async function costing(db, work) {
  await admin('CHECKPOINT');
  await sleep(500);
  const before = await snapshot(db);
  const serverBefore = await serverCpu();
  const ran = await work();
  const serverAfter = await serverCpu();
  const used = delta(before, await snapshot(db));
  return {
    ...ran,
    costs: {
      write_tx_per_saga: used.xid / ran.n,
      stmts_per_saga: used.stmts / ran.n,
      wal_bytes_per_saga: used.wal / ran.n,
      node_cpu_us_per_saga: (1e6 * ran.cpu) / ran.n,
      server_cpu_us_per_saga:
        serverBefore === undefined ? undefined : (1e6 * (serverAfter - serverBefore)) / ran.n,
    },
  };
}
