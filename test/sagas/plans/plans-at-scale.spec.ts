import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { FinishedIndex } from '../../../libs/saga/src/store/postgres/setup/finished-index.js';
import { PARTITIONED } from '../../../libs/saga/src/store/postgres/schema/tables/table-facts.js';
import { migrate } from '../../../libs/saga/src/store/postgres/setup/migrate.js';
import { partitionedNeeds } from '../../../libs/saga/src/store/postgres/setup/needs.js';
import { PostgresCleanup } from '../../../libs/saga/src/store/postgres/cleanup/postgres-cleanup.js';
import { PostgresGraphStore } from '../../../libs/saga/src/store/postgres/postgres-graph-store.js';
import { PostgresInbox } from '../../../libs/saga/src/store/postgres/outbox/postgres-inbox.js';
import { PostgresOutbox } from '../../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import { PostgresPartitions } from '../../../libs/saga/src/store/postgres/partitions/postgres-partitions.js';
import { PostgresRates } from '../../../libs/saga/src/store/postgres/read/postgres-rates.js';
import { PostgresSagaStore } from '../../../libs/saga/src/store/postgres/postgres-saga-store.js';
import { sqlOf } from '../../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { statementTextsOf } from '../../../libs/saga/src/store/postgres/statements.js';
import {
  EXPLAIN_SETTINGS,
  explainedPlan,
  type ExplainedPlan,
  type PlanNode,
} from '../../support/explained-plans.js';
import { expectedRows, GROWING, makeHuge, makeTrouble, SIZES } from '../../support/huge-tables.js';
import { MESSAGING_CALLS } from '../../support/messaging-calls.js';
import type { Called } from '../../support/called.js';
import { PARTITION_CALLS, SCALED_CALLS, SMALL_PAGE } from '../../support/scaled-calls.js';
import { STORE_CALLS } from '../../support/store-calls.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

const SCHEMA = '"saga"';
const STORE = new URL('../../../libs/saga/src/store/postgres/', import.meta.url);
const CALLS: Record<string, (on: Called) => Promise<unknown>> = {
  ...STORE_CALLS,
  ...Object.fromEntries(Object.entries(MESSAGING_CALLS).map(([name, call]) => [`messages: ${name}`, call])),
  ...SCALED_CALLS,
};

const NEWEST_FIRST = 'the newest first, and stopped by LIMIT: a search that finds little looks at much';
const OLDEST_FIRST = 'the oldest first, and stopped by LIMIT';
const COUNTED = 'what there is to do is counted; a partial index, of that alone';
const NOT_ENDED = 'what has not ended keeps the partition, or is moved: a partial index, of that alone';
const HAS_PARENT = 'what others started goes with them; a partial index, of those in the partition';
const AT_MOST = 'stopped by LIMIT';
/** What is read from end to end, and why it may be: by how the call begins, and the table or index. */
const MAY_READ: Record<string, Record<string, string>> = {
  find: { instance_pkey: NEWEST_FIRST },
  tasks: { task_oldest: OLDEST_FIRST, task_of_step: AT_MOST },
  'find tasks': { task_oldest: OLDEST_FIRST },
  'a partition': { instance_due: NOT_ENDED, instance_idle: NOT_ENDED, instance_parent: HAS_PARENT },
  stats: {
    instance_due: COUNTED,
    instance_idle: COUNTED,
    instance_overdue: COUNTED,
    outbox: AT_MOST,
    outbox_dead: AT_MOST,
  },
};
/** Methods that are not called here, and why. */
const NOT_CALLED: Record<string, string> = {
  'PostgresSagaStore.isOutage': 'sends nothing',
  'PostgresSagaStore.isTransient': 'sends nothing',
  'PostgresSagaStore.refuses': 'sends nothing',
  'PostgresOutbox.isOutage': 'sends nothing',
  'PostgresOutbox.isTransient': 'sends nothing',
  'PostgresOutbox.announce': 'is a NOTIFY',
};
const CALLERS: readonly { readonly name: string }[] = [
  PostgresSagaStore,
  PostgresGraphStore,
  PostgresOutbox,
  PostgresInbox,
  PostgresCleanup,
  PostgresRates,
];
type Mode = 'force_custom_plan' | 'force_generic_plan';
type Shape = 'in one table' | 'in partitions';

/**
 * Statements of the query builder are planned each time, with what they are sent, and a partial index needs
 * that. What
 * drops a partition makes up its statements as it runs, and takes away what others look for.
 */
const callsOf = (shape: Shape, mode: Mode): typeof CALLS => {
  if (mode === 'force_custom_plan') return CALLS;
  const planned = Object.entries(CALLS).filter(([call]) => !call.startsWith('find'));
  return { ...Object.fromEntries(planned), ...(shape === 'in partitions' && PARTITION_CALLS) };
};
const callersIn = (shape: Shape) => (shape === 'in partitions' ? [...CALLERS, PostgresPartitions] : CALLERS);

/** What is older than sixty days. */
const OLD_PARTITION = PARTITIONED.map(
  ({ table }) => `
  DO $$ BEGIN EXECUTE format('CREATE TABLE saga.${table}_20250101 PARTITION OF saga.${table} FOR VALUES FROM (%L) TO (%L)',
    saga.partition_bound(0), saga.partition_bound((extract(epoch FROM now() - interval '60 days') * 1000)::bigint)); END $$;`,
).join('');

/** As in functions' bodies; those of partitions make up their statements when they run. */
const TABLE_OF_OURS = new RegExp(`(FROM|JOIN|INTO|UPDATE|USING) ${SCHEMA}\\.(${GROWING.join('|')})\\b`, 'g');

/** All that was explained. */
const everything: ExplainedPlan[] = [];
/** The methods that were called, as `Class.method`. */
const called = new Set<string>();
let troubles = 0;
let database: TestDatabase;
let client: pg.Client;

interface Index {
  readonly name: string;
  /** As it is called where the table is in partitions: the whole one. */
  readonly whole: string;
  readonly table: string;
  readonly unique: boolean;
}
let indexes: Index[];

/** All that sends statements, on connections that tell their plans. */
async function callersOf(application: DataSource): Promise<Called> {
  const sql = sqlOf(application);
  return {
    ...{ application, client: poolOf(application), prepared: () => undefined },
    store: noted(new PostgresSagaStore(sql, 'saga')),
    inSmallPages: noted(new PostgresSagaStore(sql, 'saga', { pageBytes: SMALL_PAGE })),
    graphs: noted(new PostgresGraphStore(sql, 'saga')),
    outbox: noted(new PostgresOutbox(application, 'saga')),
    inbox: noted(new PostgresInbox(application, 'saga')),
    cleanup: noted(new PostgresCleanup(sql, 'saga')),
    partitions: noted(new PostgresPartitions(sql, 'saga')),
    rates: noted(new PostgresRates(sql, 'saga')),
  };
}

const poolOf = (application: DataSource): pg.Pool =>
  (application.driver as unknown as { master: pg.Pool }).master;

/** The same, and notes which of its methods are called from outside. */
function noted<T extends object>(caller: T): T {
  return new Proxy(caller, {
    get(target, method) {
      const value: unknown = Reflect.get(target, method);
      if (typeof value !== 'function') return value;
      called.add(`${target.constructor.name}.${String(method)}`);
      return value.bind(target) as unknown;
    },
  });
}

async function explainingApplication(url: string, planCacheMode: string, plans: ExplainedPlan[]) {
  const settings = {
    session_preload_libraries: 'auto_explain',
    plan_cache_mode: planCacheMode,
    ...Object.fromEntries(Object.entries(EXPLAIN_SETTINGS).map(([k, v]) => [`auto_explain.${k}`, v])),
    'auto_explain.log_parameter_max_length': 0,
  };
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
  const application = new DataSource({ type: 'postgres', url, extra: { options } });
  await application.initialize();
  const observed = new WeakSet<object>();
  poolOf(application).on('acquire', (connection) => {
    if (observed.has(connection)) return;
    observed.add(connection);
    connection.on('notice', ({ message }) => {
      const plan = explainedPlan(message);
      if (plan) plans.push(plan);
    });
  });
  return application;
}

/** The tables, as they are after a year. */
async function grownDatabase(shape: Shape): Promise<void> {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  if (shape === 'in partitions') {
    await migrate(sqlOf(application), 'saga', partitionedNeeds('daily'));
    await client.query(OLD_PARTITION);
  } else {
    const sql = sqlOf(application);
    await migrate(sql, 'saga');
    await new FinishedIndex(sql, 'saga').ensure(new AbortController().signal);
  }
  await application.destroy();
  await makeHuge(client);
  ({ rows: indexes } = await client.query<Index>(
    `SELECT c.relname AS name, i.indisunique AS unique, coalesce(pg_partition_root(c.oid), c.oid)::regclass::text AS whole,
       coalesce(pg_partition_root(i.indrelid), i.indrelid)::regclass::text AS table
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'saga'::regnamespace`,
  ));
  const plain = (name: string) => name.replace(/^saga\.|"/g, '');
  indexes = indexes.map((index) => ({ ...index, whole: plain(index.whole), table: plain(index.table) }));
}

/** Without the name of its partition. */
const wholeTable = (table: string): string => table.replace(/_(\d{8}|rest|before)$/, '');

const isGrowing = (table: string | undefined) => table !== undefined && GROWING.includes(wholeTable(table));

const mayRead = (call: string, whole: string): boolean =>
  Object.entries(MAY_READ).some(([start, reasons]) => call.startsWith(start) && reasons[whole] !== undefined);

/**
 * Without the places that PL/pgSQL puts results into, which its statements are carried out without, and
 * layout.
 */
const withoutPlaces = (text: string): string =>
  text
    .replace(/\bINTO (?!")[\w, ]+?(?=\s+FROM\b|;)/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

/** Paths of all files in the store's folders. */
async function filesOfStore(): Promise<string[]> {
  return (await readdir(STORE, { recursive: true })).map((path) => path.replaceAll('\\', '/'));
}

/** By its source: at run time nothing tells what is private. */
async function publicMethodsOf(name: string): Promise<string[]> {
  const file = `${name.replace(/(?!^)[A-Z]/g, '-$&').toLowerCase()}.ts`;
  const path = (await filesOfStore()).find((path) => path.split('/').at(-1) === file);
  const source = await readFile(new URL(path!, STORE), 'utf8');
  return [...source.slice(source.indexOf(`class ${name} `)).matchAll(/^ {2}(?:async )?(\w+)(?:<\w+>)?\(/gm)]
    .map(([, method]) => method!)
    .filter((method) => method !== 'constructor');
}

/**
 * Partitions of a page at most, as those to come are: to read that is the cheapest there is, and nothing was
 * made up of them.
 */
async function tinyTables(): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'saga'::regnamespace AND relkind = 'r' AND relispartition AND pg_relation_size(oid) <= 8192`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** What is read from end to end, as `table` or `index`. */
function wholes(nodes: readonly PlanNode[], tiny: ReadonlySet<string>): string[] {
  return nodes.flatMap((node) => {
    if (tiny.has(node['Relation Name'] ?? '')) return [];
    if (node['Node Type'] === 'Seq Scan' && isGrowing(node['Relation Name']))
      return wholeTable(node['Relation Name']!);
    const index = indexes.find(({ name }) => name === node['Index Name']);
    return index && isGrowing(index.table) && node['Index Cond'] === undefined ? index.whole : [];
  });
}

describe.each<Shape>(['in one table', 'in partitions'])('%s', (shape) => {
  beforeAll(async () => {
    everything.length = 0;
    called.clear();
    await grownDatabase(shape);
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test.each(Object.entries(SIZES))('the planner expects what %s has after a year', async (table, rows) => {
    const ratio = (await expectedRows(client, table)) / rows;
    expect(ratio).toBeGreaterThan(0.8);
    expect(ratio).toBeLessThan(1.5);
  });

  describe.each<Mode>(['force_custom_plan', 'force_generic_plan'])('with %s', (mode) => {
    let on: Called;
    const plans: ExplainedPlan[] = [];
    const calls = callsOf(shape, mode);

    beforeAll(async () => {
      await makeTrouble(client, (troubles += 1));
      on = await callersOf(await explainingApplication(database.url, mode, plans));
    });
    afterAll(() => on.application.destroy());

    test.each(Object.keys(calls))('%s: reads nothing from end to end', async (call) => {
      plans.length = 0;
      await calls[call]!(on);
      everything.push(...plans);
      const tiny = await tinyTables();
      const read = plans.flatMap(({ text, nodes }) => wholes(nodes, tiny).map((whole) => ({ text, whole })));
      expect(read.filter(({ whole }) => !mayRead(call, whole))).toEqual([]);
    });
  });

  describe('nothing is left out:', () => {
    const texts = () => everything.map(({ text }) => text);

    test.each(Object.entries(statementTextsOf('saga')))('the statement %s', (_, statement) => {
      expect(texts()).toContain(statement);
    });

    test('the other statements of sql/', async () => {
      const left: string[] = [];
      const files = (await filesOfStore()).filter((file) => file.endsWith('.sql.ts'));
      expect(files.length).toBeGreaterThan(5);
      for (const file of files) {
        const made = (await import(new URL(file, STORE).href)) as Record<string, unknown>;
        for (const [name, make] of Object.entries(made)) {
          // With more than a schema it makes a part of statements.
          if (typeof make !== 'function' || !name.endsWith('Sql') || make.length > 1) continue;
          const statement = (make as (schema: string) => string)(SCHEMA);
          if (!texts().some((text) => text.includes(statement))) left.push(name);
        }
      }
      expect(left).toEqual([]);
    });

    test.each(callersIn(shape).map(({ name }) => name))('the methods of %s', async (name) => {
      const methods = (await publicMethodsOf(name)).map((method) => `${name}.${method}`);
      expect(methods.length).toBeGreaterThan(1);
      expect(methods.filter((method) => !called.has(method) && NOT_CALLED[method] === undefined)).toEqual([]);
    });

    test('statements inside of functions', async () => {
      const { rows } = await client.query<{ name: string; body: string }>(
        `SELECT proname AS name, prosrc AS body FROM pg_proc WHERE pronamespace = 'saga'::regnamespace`,
      );
      expect(rows.length).toBeGreaterThan(20);
      const ran = [...new Set(texts().map(withoutPlaces))].sort((a, b) => b.length - a.length);
      // PostgreSQL makes these a part of the statement that calls them.
      const parts = ['all_steps', 'steps_of'];
      const whole = rows.filter(({ name }) => !name.startsWith('partition_') && !parts.includes(name));
      const left = whole.map(({ name, body }) => {
        const rest = ran.reduce(
          (source, text) => source.replaceAll(text, ' '),
          withoutPlaces(body.replaceAll('PERFORM ', 'SELECT ')),
        );
        return { name, left: rest.match(TABLE_OF_OURS) ?? [] };
      });
      expect(left.filter((one) => one.left.length > 0)).toEqual([]);
    });

    test('indexes: each is read, or keeps something unique', () => {
      const names = new Set(everything.flatMap(({ nodes }) => nodes.map((node) => node['Index Name'])));
      const read = new Set(indexes.flatMap(({ name, whole }) => (names.has(name) ? whole : [])));
      expect(indexes.filter(({ whole, unique }) => !unique && !read.has(whole))).toEqual([]);
      expect(indexes.length).toBeGreaterThan(25);
    });

    test('indexes: docs/tuning.md states the purpose of each', async () => {
      const page = await readFile(new URL('../../../docs/tuning.md', import.meta.url), 'utf8');
      // The table of migrations is TypeORM's.
      const own = indexes.filter(({ table }) => table !== 'migration').map(({ whole }) => whole);
      expect(own.filter((whole) => !page.includes(`\`${whole}\``))).toEqual([]);
    });
  });
});
