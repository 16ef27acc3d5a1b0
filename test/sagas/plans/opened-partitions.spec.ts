import pg from 'pg';
import { Saga, WaitFor } from '../../../libs/saga/src/index.js';
import {
  CHECKPOINT_ARGUMENTS,
  SAGA_COLUMNS,
} from '../../../libs/saga/src/store/postgres/schema/functions/checkpoint.function.js';
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
 * The days of the partitions whose primary key is opened by a statement that was planned before: it stays locked until the
 * transaction ends. To plan, PostgreSQL opens all of them.
 */
async function keysOpenedBy(client: pg.Client, text: string, values: unknown[]): Promise<string[]> {
  await client.query('BEGIN');
  await client.query(text, values);
  await client.query('ROLLBACK');
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

  test('a batch of checkpoints opens the partitions from the day of its oldest saga on', async () => {
    const of = (value: unknown) => [value, value];
    const saga = { id: of(today), epoch: of(1), number: of(9), status: of('running'), step: of('ask') };
    const given = Object.keys(SAGA_COLUMNS).map((name) => (saga as Record<string, unknown>)[name] ?? null);
    const values = Array.from({ length: CHECKPOINT_ARGUMENTS }, (_, n) => given[n] ?? null);
    const places = values.map((_, n) => `$${n + 1}`).join(', ');
    const opened = await keysOpenedBy(client, `SELECT saga.checkpoint_1(${places})`, values);
    expect(opened).toContain(dayOfAgo(0));
    for (const daysAgo of DAYS_AGO) expect(opened).not.toContain(dayOfAgo(daysAgo));
  });

  test('a claim opens the partitions from the day of the oldest saga on that it takes', async () => {
    await apps.sql(
      `UPDATE saga.instance SET due_at = now(), rank_at = now(), idle_status = NULL, status = 'running' WHERE id = $1`,
      [today],
    );
    const values = [['question'], [1], 10, 'worker', 30_000, 1e9, 1e9, true, null];
    const claim = `SELECT id FROM saga.claim_1($1, $2, $3, $4, $5, $6, $7, $8, $9) WHERE id IS NOT NULL`;
    const opened = await keysOpenedBy(client, claim, values);
    expect(opened).toContain(dayOfAgo(0));
    for (const daysAgo of DAYS_AGO) expect(opened).not.toContain(dayOfAgo(daysAgo));
  });
});
