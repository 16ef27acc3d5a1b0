import pg from 'pg';
import type { WakeupMessage } from '../../../libs/saga/src/engine/ports/wakeup.js';
import { ListenWakeup } from '../../../libs/saga/src/store/postgres/connection/listen-wakeup.js';
import type { PgPool } from '../../../libs/saga/src/store/postgres/connection/pg-types.js';
import { until } from '../../support/gate.js';
import { findPgbouncer, startPgbouncer } from '../../support/pgbouncer.mjs';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

const CHANNEL = 'saga_test_hints';
const PULSE = 50;

/** A process that listens by this URL, with its received messages and its log. `pulse` is in milliseconds. */
async function listener(url: string, pulse?: number, refuses: () => boolean = () => false) {
  const pool = new pg.Pool({ connectionString: url });
  const [received, warnings]: [WakeupMessage[], string[]] = [[], []];
  const log = {
    log: () => undefined,
    error: () => undefined,
    warn: (line: string) => void warnings.push(line),
  };
  const notify = async (channel: string, text: string) => {
    if (refuses()) throw new Error('Connection terminated');
    return pool.query('SELECT pg_notify($1, $2)', [channel, text]);
  };
  const wakeup = new ListenWakeup(pool as unknown as PgPool, CHANNEL, notify, log as never, pulse);
  await wakeup.start((message) => received.push(message));
  const stop = async () => {
    await wakeup.stop();
    await pool.end();
  };
  return { wakeup, received, warnings, stop };
}

describe('hints between processes', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  test('are expected once one was received, so that polls can be rare', async () => {
    const { wakeup, received, warnings, stop } = await listener(database.url);
    await until(() => wakeup.listening);
    wakeup.announceDue();
    await until(() => received.some(({ type }) => type === 'due'));
    expect(warnings).toEqual([]);
    await stop();
    expect(wakeup.listening).toBe(false);
  });

  test('that cannot be sent, as during a failover, are not taken for a pooler', async () => {
    let calls = 0;
    const { wakeup, warnings, stop } = await listener(database.url, PULSE, () => (calls += 1) <= 4);
    await until(() => wakeup.listening);
    expect(calls).toBeGreaterThan(4);
    expect(warnings).toEqual([]);
    await stop();
  });

  const binary = findPgbouncer();
  (binary ? test : test.skip)(
    'are not expected behind pgbouncer in transaction mode (skipped without it), which is logged once',
    async () => {
      const pooler = await startPgbouncer(binary!, database.url);
      // Keeps the server connection that executed LISTEN busy or in other hands, as applications do.
      const others = new pg.Pool({ connectionString: pooler.url, max: 20 });
      const { wakeup, warnings, stop } = await listener(pooler.url, PULSE);
      for (let n = 0; n < 20; n += 1)
        await Promise.all(Array.from({ length: 8 }, () => others.query('SELECT pg_sleep(0.01)')));
      await until(() => warnings.length > 0);
      await new Promise((resolve) => setTimeout(resolve, PULSE * 5));
      expect(wakeup.listening).toBe(false);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(/transaction mode/);
      await stop();
      await others.end();
      await pooler.stop();
    },
  );
});
