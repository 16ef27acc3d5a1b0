import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, DemoEnvironment } from '../stage.js';

export const timeouts: Fault = {
  name: 'timeouts',
  what: 'The server has lock_timeout = 300 ms and statement_timeout = 600 ms, and another session locks the tables of the sagas for two to five seconds.',
  settings: { lock_timeout: 300, statement_timeout: 600 },
  async inject(stage) {
    const table = stage.chance.one(['saga.instance', 'saga.step', 'saga.instance, saga.step']);
    await locked(stage, `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`, stage.chance.between(2_000, 5_000));
  },
};

async function locked({ sagas }: DemoEnvironment, lock: string, time: number): Promise<void> {
  const client = await sagas.connect();
  try {
    await client.query('BEGIN');
    await client.query('SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0');
    await client.query(lock);
    await sleep(time);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}
