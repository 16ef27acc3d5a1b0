import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, DemoEnvironment } from '../stage.js';

const SESSIONS = 4;
const ROWS = 12;

export const deadlocks: Fault = {
  name: 'deadlocks',
  what: 'Four sessions lock rows of unfinished sagas one by one, against the order of the engine, for three seconds (deadlock_timeout = 50 ms).',
  settings: { deadlock_timeout: 50 },
  async inject(stage) {
    const until = performance.now() + 3_000;
    await Promise.all(
      Array.from({ length: SESSIONS }, async () => {
        while (performance.now() < until) await lockAgainstTheOrder(stage).catch(() => undefined);
      }),
    );
  },
};

async function lockAgainstTheOrder({ sagas }: DemoEnvironment): Promise<void> {
  const client = await sagas.connect();
  try {
    const { rows } = await client.query<{ id: string }>(
      `SELECT id FROM saga.instance WHERE status IN ('running', 'compensating') ORDER BY id DESC LIMIT ${ROWS}`,
    );
    await client.query('BEGIN');
    for (const { id } of rows) {
      await client.query('SELECT FROM saga.instance WHERE id = $1 FOR UPDATE', [id]);
      await sleep(10);
    }
    await client.query('COMMIT');
  } catch (error) {
    // Sometimes the victim is this one.
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}
