import type { EngineLog } from '../../libs/saga/src/engine/ports/engine-log.js';
import { Relay } from '../../libs/messaging/src/relay/relay.js';
import { EngineSql } from '../../libs/saga/src/store/postgres/connection/engine-sql.js';
import { PgDatabase } from '../../libs/saga/src/store/postgres/connection/pg-database.js';
import { PostgresOutbox } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { Cutter } from '../support/cutting-pool.js';
import { until } from '../support/gate.js';
import { MemoryBroker } from './support/memory-broker.js';
import { type MessagingApp, MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

const LEASE = 60_000;
const RETRY = { attempts: 10, delay: 1_000, backoff: 2, maxDelay: 1_000, jitter: 0 } as never;
const SETTINGS = {
  name: 'r',
  batch: 64,
  batchesAtOnce: 1,
  lease: LEASE,
  sendTimeout: 30_000,
  shutdownTimeout: 1_000,
  retry: RETRY,
};
const QUIET: EngineLog = {
  debug: () => undefined,
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Drains 20 messages with a relay whose n-th statement is executed without an answer. @returns whether it lost lanes by that */
async function drainWithCut(app: MessagingApp, at: number): Promise<boolean> {
  await app.dataSource.transaction((manager) =>
    app.outbox.publish(
      manager,
      Array.from({ length: 20 }, (_, n) => ({ topic: 't', key: `k${n % 7}`, payload: n })),
    ),
  );
  const cutter = new Cutter();
  const pool = cutter.pool(apps.url);
  const outbox = new PostgresOutbox(new EngineSql(new PgDatabase(pool)), 'saga');
  const broker = new MemoryBroker();
  let lostLanes = false;
  const failed = async () => {
    const leased = await app.dataSource.query<object[]>(
      `SELECT FROM saga.outbox_lane WHERE leased_by = '${SETTINGS.name}'`,
    );
    lostLanes ||= leased.length > 0;
  };
  const looks: Promise<void>[] = [];
  const relay = new Relay(outbox, broker, SETTINGS, QUIET, undefined, () => looks.push(failed()));
  cutter.arm(at);
  const began = performance.now();
  relay.start();
  await until(async () => (await apps.outboxRows()).length === 0);
  expect(performance.now() - began).toBeLessThan(LEASE / 2);
  expect(new Set(broker.payloads).size).toBe(20);
  await relay.stop();
  await Promise.all(looks);
  await pool.end();
  return lostLanes;
}

test('a relay whose connection is cut gives back the lanes that it took without an answer', async () => {
  const app = await apps.start({ messaging: { relay: false } });
  let lost = 0;
  for (let at = 1; at <= 6; at += 1) if (await drainWithCut(app, at)) lost += 1;
  expect(lost).toBeGreaterThan(0);
}, 120_000);
