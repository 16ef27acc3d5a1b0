import pg from 'pg';
import { DataSource } from 'typeorm';
import { finishedIndexSql } from '../../../libs/saga/src/store/postgres/schema/finished-index.sql.js';
import { migrate } from '../../../libs/saga/src/store/postgres/setup/migrate.js';
import { sqlOf } from '../../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { type PlanNode, rowsRead } from '../../support/explained-plans.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

const KEPT = 100_000;
const OLD = 5_000;
const BATCH = 300;

let database: TestDatabase;
let client: pg.Client;
let nodes: PlanNode[] = [];

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

beforeAll(async () => {
  database = await createTestDatabase();
  const application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  await migrate(sqlOf(application), 'saga');
  await application.query(finishedIndexSql('saga', ''));
  await application.destroy();
  client = new pg.Client({ connectionString: database.url });
  client.on('notice', ({ message }) => {
    const plan = /^duration: .*? plan:\n(.*)$/s.exec(message ?? '')?.[1];
    if (plan !== undefined) nodes.push(...nodesOf((JSON.parse(plan) as { Plan: PlanNode }).Plan));
  });
  await client.connect();
  for (const table of ['instance', 'step'])
    await client.query(`ALTER TABLE saga.${table} SET (autovacuum_enabled = off)`);
  // What is kept: of the same name, and of another one that is as old. Each of those that go has started
  // another.
  const fill = (name: string, count: number, ago: string) =>
    client.query(
      `INSERT INTO saga.instance (id, name, version, status, step, epoch, finished_at)
       SELECT gen_random_uuid(), $1, 1, 'completed', '', 1, now() - $3::interval - n * interval '1 ms'
       FROM generate_series(1, $2::int) n`,
      [name, count, ago],
    );
  await fill('order', KEPT / 2, '1 day');
  await fill('other', KEPT / 2, '2 years');
  await fill('order', OLD, '1 year');
  await client.query(
    `INSERT INTO saga.instance (id, name, version, status, step, epoch, finished_at, parent_id, parent_step)
     SELECT gen_random_uuid(), 'child', 1, 'completed', '', 1, now() - interval '1 year', id, 'a'
     FROM saga.instance WHERE name = 'order' AND finished_at < now() - interval '30 days'`,
  );
  await client.query(
    `INSERT INTO saga.step (saga_id, name, status) SELECT id, 'a', 'completed' FROM saga.instance`,
  );
  await client.query(`LOAD 'auto_explain'`);
  const settings = {
    ...{ log_min_duration: 0, log_nested_statements: 'on', log_analyze: 'on' },
    ...{ log_format: 'json', log_level: 'notice' },
  };
  for (const [name, value] of Object.entries(settings))
    await client.query(`SET auto_explain.${name} = '${value}'`);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

describe.each([
  ['the planner takes the tables for tiny', `UPDATE pg_class SET reltuples = 10, relpages = 1`],
  ['the planner takes them for huge', `UPDATE pg_class SET reltuples = 1e9, relpages = 1000`],
  ['unknown sizes', `UPDATE pg_class SET reltuples = -1, relpages = 0`],
  ['the statistics are right', `ANALYZE saga.instance, saga.step`],
])('when %s', (_, lie) => {
  test.each([true, false])(
    'a deletion reads what it deletes, and nothing beside it (only counted: %s)',
    async (dryRun) => {
      const tables = lie.startsWith('UPDATE')
        ? ` WHERE oid IN ('saga.instance'::regclass, 'saga.step'::regclass)`
        : '';
      await client.query(lie + tables);
      nodes = [];
      const { rows } = await client.query(
        `SELECT looked, gone FROM saga.cleanup('order', 30 * 86400000.0, '-infinity',
        '00000000-0000-0000-0000-000000000000', ${BATCH}, ${dryRun}, true)`,
      );
      expect(rows).toEqual([{ looked: BATCH, gone: 2 * BATCH }]);
      const scans = nodes.filter((node) =>
        /^(instance|step|signal|operation)$/.test(node['Relation Name'] ?? ''),
      );
      expect(scans.length).toBeGreaterThan(0);
      expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
      expect(nodes.filter((node) => /^(Hash|Merge) Join$/.test(node['Node Type']))).toEqual([]);
      const reads = scans.map(rowsRead);
      // Itself and its child, each once, and one row more to know where to stop.
      expect(Math.max(...reads)).toBeLessThanOrEqual(2 * BATCH + 1);
    },
  );
});
