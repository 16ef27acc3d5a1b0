import pg from 'pg';
import { DataSource } from 'typeorm';
import { migrate } from '../../libs/saga/src/store/postgres/setup/migrate.js';
import { MESSAGING_NEEDS } from '../../libs/saga/src/store/postgres/setup/needs.js';
import { PostgresInbox } from '../../libs/saga/src/store/postgres/outbox/postgres-inbox.js';
import type { Sql } from '../../libs/saga/src/store/postgres/connection/sql.js';
import { PostgresOutbox } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { sqlOf } from '../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { explainedPlan, explainEverything, type PlanNode, rowsRead } from '../support/explained-plans.js';
import { MESSAGING_CALLS } from '../support/messaging-calls.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

const BACKLOG = 60_000;

let database: TestDatabase;
let application: DataSource;
let client: pg.Client;
let outbox: PostgresOutbox;
let inbox: PostgresInbox;
/** The plans that auto_explain reported for the statements of `client`, including those inside functions. */
const explained: (readonly PlanNode[])[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  await migrate(sqlOf(application), 'saga', MESSAGING_NEEDS);
  client = new pg.Client({ connectionString: database.url });
  client.on('notice', ({ message }) => {
    const plan = explainedPlan(message);
    if (plan) explained.push(plan.nodes);
  });
  await client.connect();
  const sql: Sql = {
    query: async <Rows>(text: string, values?: unknown[]) => (await client.query(text, values)).rows as Rows,
  };
  outbox = new PostgresOutbox(sql, 'saga');
  inbox = new PostgresInbox(sql, 'saga');
  // The planner assumes empty tables, and autovacuum does not correct that.
  for (const table of ['outbox', 'inbox', 'outbox_lane']) {
    await client.query(`ALTER TABLE saga.${table} SET (autovacuum_enabled = off)`);
    await client.query(`ANALYZE saga.${table}`);
  }
  await client.query(`
    INSERT INTO saga.outbox (aggregatetype, aggregateid, type, payload)
    SELECT 'orders', 'k' || n % 500, 't', '1' FROM generate_series(1, ${BACKLOG}) n`);
  // A key that is dead, and one that is due again, each with a line behind it; and a journal.
  await client.query(`
    UPDATE saga.outbox SET held = true WHERE aggregateid IN ('k7', 'k8');
    UPDATE saga.outbox SET dead_at = now(), attempts = 3 WHERE seq IN (SELECT min(seq) FROM saga.outbox WHERE aggregateid = 'k7');
    UPDATE saga.outbox SET retry_at = now() WHERE seq IN (SELECT min(seq) FROM saga.outbox WHERE aggregateid = 'k8');
    INSERT INTO saga.inbox SELECT 'default', gen_random_uuid()::text, now() - n * interval '1 second' FROM generate_series(1, 50000) n`);
  await explainEverything(client);
});

afterAll(async () => {
  await application.destroy();
  await client.end();
  await database.drop();
});

/** Each call leaves things as they were. */
async function plansOf(call: string): Promise<(readonly PlanNode[])[]> {
  await client.query('BEGIN');
  explained.length = 0;
  await MESSAGING_CALLS[call]!({ outbox, inbox, client });
  await client.query('ROLLBACK');
  expect(explained.length).toBeGreaterThan(0);
  return [...explained];
}

describe.each([
  ['the statistics say that the tables are empty', `SELECT`],
  ['the planner takes them for tiny', `UPDATE pg_class SET reltuples = 10, relpages = 1`],
  ['the planner takes them for huge', `UPDATE pg_class SET reltuples = 1e9, relpages = 1000`],
  ['unknown sizes', `UPDATE pg_class SET reltuples = -1, relpages = 0`],
  ['the statistics are right', `ANALYZE saga.outbox, saga.inbox, saga.outbox_lane`],
])('when %s', (_, lie) => {
  beforeAll(async () => {
    const tables = ` WHERE oid IN ('saga.outbox'::regclass, 'saga.inbox'::regclass, 'saga.outbox_lane'::regclass)`;
    await client.query(lie + (lie.startsWith('UPDATE') ? tables : ''));
  });

  test.each(Object.keys(MESSAGING_CALLS))('%s reads no whole table', async (call) => {
    for (const nodes of await plansOf(call)) {
      const whole = nodes.filter(
        (node) => node['Node Type'] === 'Seq Scan' && /^(outbox|inbox)$/.test(node['Relation Name'] ?? ''),
      );
      expect(whole).toEqual([]);
    }
  });

  test.each(Object.keys(MESSAGING_CALLS))(
    '%s reads no more than it needs, however long the backlog',
    async (call) => {
      const read = (await plansOf(call))
        .flat()
        .filter((node) => /^(outbox|inbox)$/.test(node['Relation Name'] ?? ''))
        .map(rowsRead);
      expect(Math.max(0, ...read)).toBeLessThanOrEqual(1_100);
    },
  );
});
