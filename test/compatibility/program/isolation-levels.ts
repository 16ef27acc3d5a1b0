import assert from 'node:assert/strict';
import { Saga, SagaService, Step, type TransactionalStepContext } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { smallApp, until } from './small-app.js';

const LEVELS = ['read committed', 'repeatable read', 'serializable'];
const WAITING = 10;

let booking = 0;
/** Sagas that were started while one has the lock, and its transaction has begun. */
let waiting = 0;

/** One at a time of a key; its step sets an isolation level of its own. */
@Saga({ name: 'transfer', lockKey: () => 'account-1' })
class TransferSaga {
  @Step({ transactional: true })
  async book(ctx: TransactionalStepContext<{ level?: string; until: number }>): Promise<string> {
    const { level } = ctx.input;
    if (level) await ctx.manager.query(`SET TRANSACTION ISOLATION LEVEL ${level}`);
    const [{ shown }] = await ctx.manager.query<[{ shown: string }]>(
      `SELECT current_setting('transaction_isolation') AS shown`,
    );
    booking += 1;
    await until('others wait for the lock', () => waiting >= ctx.input.until);
    return shown;
  }
}

/** The tables are made by one of them, whatever the isolation level of the database. */
export async function startsTwiceAtOnce(url: string): Promise<void> {
  for (const level of LEVELS) {
    await setDefault(url, level, { emptied: true });
    const starting = [1, 2, 3].map(() => smallApp(url, { providers: [TransferSaga] }));
    const started = await Promise.allSettled(starting);
    for (const app of started) if (app.status === 'fulfilled') await app.value.close();
    for (const app of started) if (app.status === 'rejected') throw app.reason;
  }
}

/** A saga that waits for a lock gets it. */
export async function handsLocksOver(url: string): Promise<void> {
  for (const byDefault of LEVELS) {
    await setDefault(url, byDefault);
    const apps = await Promise.all([1, 2].map(() => smallApp(url, { providers: [TransferSaga] })));
    try {
      for (const level of [undefined, ...LEVELS]) {
        const start = (n: number) =>
          apps[n % 2]!.get(SagaService).start(TransferSaga, { until: WAITING, ...(level && { level }) });
        waiting = 0;
        const before = booking;
        const handles = [await start(0)];
        await until('the first one books', () => booking > before);
        for (let n = 1; n <= WAITING; n += 1) handles.push(await start(n));
        waiting = WAITING;
        const outcomes = await Promise.all(handles.map((handle) => handle.outcome({ timeout: '30s' })));
        for (const { status, results } of outcomes) {
          assert.equal(status, 'completed');
          assert.equal(results.book, level ?? byDefault);
        }
      }
    } finally {
      for (const app of apps) await app.close();
    }
  }
}

/** As a DBA sets it: for all connections of the database. */
async function setDefault(url: string, level: string, { emptied = false } = {}): Promise<void> {
  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  const [{ name }] = await dataSource.query<[{ name: string }]>('SELECT current_database() AS name');
  await dataSource.query(`ALTER DATABASE "${name}" SET default_transaction_isolation = '${level}'`);
  if (emptied) await dataSource.query('DROP SCHEMA IF EXISTS saga CASCADE');
  await dataSource.destroy();
}
