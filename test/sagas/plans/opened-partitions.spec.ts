import pg from 'pg';
import { Saga, WaitFor } from '../../../libs/saga/src/index.js';
import {
  SAGA_PARAMETERS,
  STEP_PARAMETERS,
} from '../../../libs/saga/src/store/postgres/checkpoint/checkpoint-parameters.js';
import { CHECKPOINT_ARGUMENTS } from '../../../libs/saga/src/store/postgres/checkpoint/checkpoint-parameters.js';
import { DAY, dayOf, idOf, PartitionedTables } from '../../support/partitioned-tables.js';
import { TestApps } from '../../support/test-app.js';
import { until } from '../../support/gate.js';

const apps = TestApps.onOwnDatabase();
const tables = new PartitionedTables(apps);
const DAYS_AGO = [1, 2, 3, 400];

@Saga({ name: 'question' })
class Question {
  @WaitFor({ signal: 'answer' }) ask(): void {}
}
/**
 * The days of the partitions whose primary key is opened by a statement that was planned before. To plan it, PostgreSQL opens
 * all of them.
 */
async function keysOpenedBy(client: pg.Client, text: string, values: unknown[]): Promise<string[]> {
  await client.query('BEGIN');
  await client.query(text, values);
  await client.query('ROLLBACK');
  return keysOpenedFirst(client, text, values);
}

/** The same of a statement that may have to be planned: an index stays locked until the transaction ends. */
async function keysOpenedFirst(client: pg.Client, text: string, values: unknown[]): Promise<string[]> {
  await client.query('BEGIN');
  await client.query(text, values);
  const { rows } = await client.query<{ day: string }>(
    `SELECT substring(c.relname FROM 'instance_(\\w+)_pkey') AS day FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
     WHERE l.pid = pg_backend_pid() AND c.relname ~ '^instance_\\w+_pkey$' ORDER BY 1`,
  );
  await client.query('ROLLBACK');
  return rows.map(({ day }) => day);
}

const dayOfAgo = (daysAgo: number): string => dayOf(Date.now() - daysAgo * DAY);

describe('in partitions of many days, of which the sagas are of today and a day ago', () => {
  let client: pg.Client;
  let today: string;

  beforeEach(async () => {
    const { sagas, close } = await apps.start({
      sagas: [Question],
      options: { partitions: 'daily', retention: '1000d' },
    });
    for (const daysAgo of DAYS_AGO) await tables.make(daysAgo);
    ({ id: today } = await sagas.start(Question, undefined));
    await sagas.start(Question, undefined, { id: idOf(1) });
    await until(async () => (await apps.sql('SELECT FROM saga.instance WHERE rank_at IS NULL')).length === 2);
    await close();
    client = new pg.Client(apps.url);
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await apps.sql('DROP SCHEMA saga CASCADE');
  });

  const call = (name: string, values: readonly unknown[]): string =>
    `SELECT saga.${name}(${values.map((_, n) => `$${n + 1}`).join(', ')})`;

  type Values = Readonly<Record<string, unknown>>;
  const checkpointOf = (saga: Values, step: Values = {}): unknown[] => {
    const given = SAGA_PARAMETERS.map(({ name }) => saga[name] ?? null);
    given.push(...STEP_PARAMETERS.map(({ name }) => step[name] ?? null));
    return Array.from({ length: CHECKPOINT_ARGUMENTS }, (_, n) => given[n] ?? null);
  };
  const ofToday = () => ({ id: today, epoch: 1, number: 9, status: 'running', step: 'ask' });
  const batch = () =>
    checkpointOf(
      Object.fromEntries(Object.entries(ofToday()).map(([name, value]) => [name, [value, value]])),
    );
  const single = () =>
    checkpointOf(ofToday(), { saga_id: today, name: 'next', status: 'completed', attempts: 1 });

  test('a batch of checkpoints opens the partitions from the day of its oldest saga on', async () => {
    const opened = await keysOpenedBy(client, call('checkpoint', batch()), batch());
    expect(opened).toContain(dayOfAgo(0));
    for (const daysAgo of DAYS_AGO) expect(opened).not.toContain(dayOfAgo(daysAgo));
  });

  test.each([
    ['a batch of checkpoints', 'checkpoint', batch],
    ['a checkpoint', 'checkpoint_one', single],
  ])('to plan %s on a new connection opens the partition of its saga only', async (_, name, values) => {
    expect(await keysOpenedFirst(client, call(name, values()), values())).toEqual([dayOfAgo(0)]);
  });

  test('a claim opens the partitions from the day of the oldest saga on that it takes', async () => {
    await apps.sql(
      `UPDATE saga.instance SET due_at = now(), rank_at = now(), idle_status = NULL, status = 'running' WHERE id = $1`,
      [today],
    );
    const values = [['question'], [1], 10, 'worker', 30_000, 1e9, 1e9, true, null];
    const claim = `SELECT id FROM saga.claim($1, $2, $3, $4, $5, $6, $7, $8, $9) WHERE id IS NOT NULL`;
    const opened = await keysOpenedBy(client, claim, values);
    expect(opened).toContain(dayOfAgo(0));
    for (const daysAgo of DAYS_AGO) expect(opened).not.toContain(dayOfAgo(daysAgo));
  });
});
