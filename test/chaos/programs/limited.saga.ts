import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Saga, Step, type StepContext } from 'nestjs-durable-saga';

/** The number of limited sagas that run at the same time. */
export const LIMIT = 4;
/**
 * Advisory locks in the participants' database: one at a time looks around, and each that is in a step holds
 * one.
 */
const LOOKING = 1;
export const IN_A_STEP = 2;

export const WITNESS_TABLES = `
CREATE TABLE gate (open boolean NOT NULL);
INSERT INTO gate VALUES (false);
CREATE TABLE witnessed (inside int NOT NULL)`;

/** Each step tells how many others are in one, and stays until the test opens the gate. */
@Saga({ name: 'limited', limit: LIMIT, retry: { attempts: 3, delay: 1 } })
export class LimitedSaga {
  @Step()
  async work(ctx: StepContext<{ n: number }>): Promise<void> {
    await witnessed();
    if (ctx.input.n % 5 === 0 && ctx.attempt === 1) throw new Error('try again');
  }

  @Step()
  async more(): Promise<void> {
    await witnessed();
  }
}

/** The same of one step, in all sagas together. The others wait without a lease. */
@Saga({ name: 'slotted', retry: { attempts: 3, delay: 1 } })
export class SlottedSaga {
  @Step({ limit: { count: LIMIT } })
  async work(ctx: StepContext<{ n: number }>): Promise<void> {
    await witnessed();
    if (ctx.input.n % 5 === 0 && ctx.attempt === 1) throw new Error('try again');
  }
}

/** On a connection of its own: it ends with the process, and so does what it holds. */
async function witnessed(): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.PARTICIPANT_URL });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('SELECT pg_advisory_lock($1::bigint)', [LOOKING]);
  await client.query('SELECT pg_advisory_lock($1::int, pg_backend_pid())', [IN_A_STEP]);
  await client.query(
    `INSERT INTO witnessed SELECT count(*) FROM pg_locks
     WHERE locktype = 'advisory' AND classid = $1 AND objsubid = 2 AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [IN_A_STEP],
  );
  await client.query('SELECT pg_advisory_unlock($1::bigint)', [LOOKING]);
  while ((await client.query('SELECT FROM gate WHERE open')).rowCount === 0) await sleep(20);
  await client.query('SELECT pg_advisory_unlock_all()');
  await client.end();
}
