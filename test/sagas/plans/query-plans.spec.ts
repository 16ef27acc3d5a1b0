import pg from 'pg';
import { DataSource } from 'typeorm';
import { migrate } from '../../../libs/saga/src/store/postgres/setup/migrate.js';
import { PostgresGraphStore } from '../../../libs/saga/src/store/postgres/postgres-graph-store.js';
import { PostgresSagaStore } from '../../../libs/saga/src/store/postgres/postgres-saga-store.js';
import { sqlOf } from '../../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import {
  explainedPlan,
  type ExplainedPlan,
  explainEverything,
  type PlanNode,
  rowsRead,
} from '../../support/explained-plans.js';
import { statementsSentBy } from '../../support/statement-log.js';
import { STORE_CALLS } from '../../support/store-calls.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

const FINISHED = 120_000;

let database: TestDatabase;
let client: pg.Client;
let application: DataSource;
let store: PostgresSagaStore;
let graphs: PostgresGraphStore;
let sent: { text: string; values: unknown[] }[];
/** The plans that auto_explain reported for the statements of `client`. */
const explained: ExplainedPlan[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  client.on('notice', ({ message }) => {
    const plan = explainedPlan(message);
    if (plan) explained.push(plan);
  });
  await client.connect();
  application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  sent = statementsSentBy(application);
  const sql = sqlOf(application);
  await migrate(sql, 'saga');
  store = new PostgresSagaStore(sql);
  graphs = new PostgresGraphStore(sql, 'saga');
  // The planner assumes empty tables, and autovacuum does not correct that.
  for (const table of ['instance', 'step']) {
    await client.query(`ALTER TABLE saga.${table} SET (autovacuum_enabled = off)`);
    await client.query(`ANALYZE saga.${table}`);
  }
  await client.query(`
    INSERT INTO saga.instance (id, name, version, correlation_id, status, step, priority, epoch, finished_at)
    SELECT gen_random_uuid(), 'order', 1, 'old-' || n, 'completed', '', 0, 1, now() FROM generate_series(1, ${FINISHED}) n`);
  await client.query(`
    INSERT INTO saga.step (saga_id, name, status, attempts)
    SELECT i.id, s.name, 'completed', 1 FROM saga.instance i, unnest(ARRAY['reserve', 'charge']) s(name)`);
});

afterAll(async () => {
  await application.destroy();
  await client.end();
  await database.drop();
});

/** What a join joins, without the subqueries that are run for each of its rows. */
function inputsOf(plan: PlanNode): PlanNode[] {
  const inputs = (plan.Plans ?? []).filter((node) => !/Plan$/.test(node['Parent Relationship'] ?? ''));
  return [plan, ...inputs.flatMap(inputsOf)];
}

/** The plans of all statements of a call, as they are carried out, those inside of functions included. */
async function plansOf(call: string): Promise<ExplainedPlan[]> {
  sent.length = 0;
  await STORE_CALLS[call]!({ store, graphs, prepared: () => (sent.length = 0) });
  const statements = sent.filter(({ text }) => /saga"?\./.test(text));
  expect(statements.length).toBeGreaterThan(0);
  explained.length = 0;
  await client.query('BEGIN');
  for (const { text, values } of statements) await client.query(text, values as never[]);
  await client.query('ROLLBACK');
  const tables = explained.filter(({ nodes }) => nodes.some((node) => node['Relation Name'] !== undefined));
  expect(tables.length).toBeGreaterThan(0);
  return tables;
}

/** All of ours. */
const TABLES = /^(instance|step|signal|task|rate_limit|rate_time|saga_limit|step_slot|step_limit)$/;

/** What it reads of given ids is as small as they are few. */
const isOfGivenIds = (node: PlanNode): boolean => /= ANY/.test(node['Index Cond'] ?? '');

/** A whole table read, or hashed, whatever its size. */
function wholeTables(nodes: readonly PlanNode[]): string[] {
  const scans = nodes
    .filter((node) => node['Node Type'] === 'Seq Scan' && TABLES.test(node['Relation Name'] ?? ''))
    .map((node) => `Seq Scan on ${node['Relation Name']}`);
  const joins = nodes
    .filter((node) => /^(Hash|Merge) Join$/.test(node['Node Type']))
    .filter((node) =>
      inputsOf(node).some((inner) => TABLES.test(inner['Relation Name'] ?? '') && !isOfGivenIds(inner)),
    )
    .map((node) => node['Node Type']);
  return [...scans, ...joins];
}

beforeAll(async () => {
  await explainEverything(client);
});

describe.each([
  ['the statistics say that the tables are empty', `SELECT`],
  ['the planner takes them for tiny', `UPDATE pg_class SET reltuples = 10, relpages = 1`],
  ['the planner takes them for huge', `UPDATE pg_class SET reltuples = 1e9, relpages = 1000`],
  ['unknown sizes', `UPDATE pg_class SET reltuples = -1, relpages = 0`],
  ['the statistics are right', `ANALYZE saga.instance, saga.step`],
])('when %s', (_, lie) => {
  beforeAll(async () => {
    const tables = lie.startsWith('UPDATE')
      ? ` WHERE oid IN ('saga.instance'::regclass, 'saga.step'::regclass)`
      : '';
    await client.query(lie + tables);
  });

  test.each(Object.keys(STORE_CALLS))('%s reads no whole table', async (call) => {
    for (const { text, nodes } of await plansOf(call)) {
      expect({ text, whole: wholeTables(nodes) }).toEqual({ text, whole: [] });
    }
  });

  test.each(['claim', 'claim of sagas with a limit', 'claim of sagas that were sent signals'])(
    '%s reads the steps of each saga once',
    async (call) => {
      for (const { nodes } of await plansOf(call)) {
        const looks = nodes
          .filter((node) => node['Relation Name'] === 'step' || node['Relation Name'] === 'signal')
          .map((node) => node['Actual Loops'] ?? 0);
        expect(Math.max(0, ...looks)).toBeLessThanOrEqual(100);
      }
    },
  );
});

test.each(['claim', 'claim of sagas with a limit'])(
  'a %s reads no more of a backlog than it takes, however long that is',
  async (call) => {
    await client.query(`
    INSERT INTO saga.instance (id, name, version, status, step, priority, epoch, due_at, rank_at)
    SELECT gen_random_uuid(), 'order', 1, 'running', 'reserve', 0, 0, now() - interval '1 minute', now() - interval '1 minute'
    FROM generate_series(1, 20000)`);
    for (const { nodes } of await plansOf(call)) {
      const read = nodes.filter((node) => node['Relation Name'] === 'instance').map(rowsRead);
      expect(Math.max(...read)).toBeLessThanOrEqual(300);
    }
  },
);
