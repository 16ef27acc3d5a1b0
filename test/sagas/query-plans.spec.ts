import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { Checkpoint, NewSaga } from '../../libs/saga/src/engine/saga-store.js';
import { PENDING } from '../../libs/saga/src/machine/saga-state.js';
import { migrate } from '../../libs/saga/src/store/postgres/migrate.js';
import { PostgresGraphStore } from '../../libs/saga/src/store/postgres/postgres-graph-store.js';
import { PostgresSagaStore } from '../../libs/saga/src/store/postgres/postgres-saga-store.js';
import { createSagaDataSource } from '../../libs/saga/src/store/postgres/saga-data-source.js';
import { StatementLog } from '../support/statement-log.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

const FINISHED = 120_000;
const BATCH = 250;
const LEASE = { worker: 'worker', duration: 60_000 };

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

let database: TestDatabase;
let client: pg.Client;
let application: DataSource;
let store: PostgresSagaStore;
let graphs: PostgresGraphStore;
const sent = new StatementLog();
/** What auto_explain told of the statements that `client` ran. */
const explained: { text: string; nodes: PlanNode[] }[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  client.on('notice', ({ message }) => {
    const plan = /^duration: .*? plan:\n(.*)$/s.exec(message ?? '')?.[1];
    if (plan === undefined) return;
    const { 'Query Text': text, Plan } = JSON.parse(plan) as { 'Query Text': string; Plan: PlanNode };
    explained.push({ text, nodes: nodesOf(Plan) });
  });
  await client.connect();
  application = await new DataSource({
    type: 'postgres',
    url: database.url,
    logging: ['query'],
    logger: sent,
  }).initialize();
  const dataSource = await createSagaDataSource(application, 'saga');
  await migrate(dataSource, 'saga');
  store = new PostgresSagaStore(dataSource);
  graphs = new PostgresGraphStore(dataSource, 'saga');
  // The planner's idea of the tables is that they are empty, and nobody corrects it.
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

const newSagas = (given: Partial<NewSaga> = {}, count = BATCH): NewSaga[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{
      id: randomUUID(),
      fresh: true,
      name: 'order',
      version: 1,
      priority: 0,
      step: 'reserve',
      leased: true,
    },
    correlationId: `new-${randomUUID()}-${n}`,
    input: '{"sku":"a"}',
    ...given,
  }));

/** Each is later than all before. */
let checkpoints = 0;

const checkpointOf = ({ id }: { id: string }, changed = ['reserve', 'charge']): Checkpoint => ({
  ...{
    id,
    epoch: 1,
    number: (checkpoints += 1),
    step: 'charge',
    advances: true,
    cancelSeen: false,
    pauseSeen: false,
  },
  changed,
  state: {
    status: 'running',
    round: 1,
    steps: new Map(
      changed.map((name) => [name, { ...PENDING, status: 'completed', attempts: 1, result: '1' }]),
    ),
  },
});

const signal = () => ({ name: 'reply', messageId: randomUUID(), payload: '1' });

/** The statements of each of the store's calls, in their usual and their unusual ways. */
const CALLS: Record<string, () => Promise<unknown>> = {
  start: () => store.start(newSagas(), LEASE),
  'start of what is there': () =>
    store.start(
      newSagas().map((saga, n) => ({ ...saga, correlationId: `old-${n + 1}` })),
      LEASE,
    ),
  checkpoint: async () => {
    const sagas = newSagas();
    await store.start(sagas, LEASE);
    sent.statements = [];
    await store.checkpoint(sagas.map((saga) => checkpointOf(saga)));
  },
  'checkpoint of one saga': async () => {
    const [saga] = newSagas({}, 1) as [NewSaga];
    await store.start([saga], LEASE);
    sent.statements = [];
    await store.checkpoint([checkpointOf(saga, ['reserve'])]);
  },
  'checkpoint of a lost lease': async () => {
    const sagas = newSagas();
    await store.start(sagas, LEASE);
    sent.statements = [];
    await store.checkpoint(sagas.map((saga) => ({ ...checkpointOf(saga), epoch: 9 })));
  },
  claim: async () => {
    await store.start(newSagas({ leased: false }), LEASE);
    sent.statements = [];
    const sagas = ['order', 'refund', 'shipment'].map((name) => ({ name, version: 1 }));
    expect((await store.claim({ lease: LEASE, sagas, limit: 100 })).sagas).toHaveLength(100);
  },
  'claim of sagas that were sent signals': async () => {
    const name = `signalled-${randomUUID()}`;
    const sagas = newSagas({ name, leased: false });
    await store.start(sagas, LEASE);
    await store.signal(sagas.map(({ id }) => ({ ...signal(), target: { id } })));
    sent.statements = [];
    const claim = await store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 100 });
    expect(claim.sagas.map(({ signals }) => signals?.length)).toEqual(claim.sagas.map(() => 1));
  },
  signal: async () => {
    const sagas = newSagas({ leased: false });
    await store.start(sagas, LEASE);
    sent.statements = [];
    await store.signal([
      ...sagas.map(({ id }) => ({ ...signal(), target: { id } })),
      ...sagas.map(({ name, correlationId }) => ({
        ...signal(),
        target: { name, correlationId: correlationId! },
      })),
      { ...signal(), target: { name: 'order', correlationId: randomUUID() } },
    ]);
  },
  'a look at what was sent': async () => {
    const [saga] = newSagas({}, 1) as [NewSaga];
    await store.start([saga], LEASE);
    await store.signal([{ ...signal(), target: { id: saga.id } }]);
    sent.statements = [];
    expect(await store.unheard(saga.id)).toHaveLength(1);
  },
  'checkpoint that publishes': async () => {
    const sagas = newSagas();
    await store.start(sagas, LEASE);
    sent.statements = [];
    const message = { topic: 'a', key: 'b', type: 'c', payload: '1', headers: {} };
    await store.checkpoint(
      sagas.map((saga, n) => ({
        ...checkpointOf(saga),
        epoch: n === 0 ? 9 : 1,
        messages: [{ ...message, id: randomUUID() }],
      })),
    );
  },
  renew: async () => {
    const sagas = newSagas();
    await store.start(sagas, LEASE);
    sent.statements = [];
    const { lost } = await store.renew(
      sagas.map(({ id }) => ({ id, epoch: 1 })),
      LEASE,
    );
    expect(lost).toEqual([]);
  },
  watch: async () => {
    const sagas = newSagas();
    await store.start(sagas, LEASE);
    sent.statements = [];
    await store.watch(sagas.map(({ id }) => id));
  },
  load: async () => {
    await store.load({ name: 'order', correlationId: 'old-7' });
    await store.load({ name: 'order', correlationId: randomUUID() });
  },
  'start of sagas with a lock': () =>
    store.start(
      newSagas().map((saga, n) => ({ ...saga, lockKey: `k${n % 10}` })),
      LEASE,
    ),
  'claim of sagas with a lock': async () => {
    const name = `locked-${randomUUID()}`;
    await store.start(
      newSagas({ name, leased: false }).map((saga, n) => ({ ...saga, lockKey: `k${n % 10}` })),
      LEASE,
    );
    sent.statements = [];
    expect(await store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 100 })).toMatchObject({
      sagas: { length: 10 },
    });
  },
  'last checkpoint of sagas with a lock': async () => {
    const name = `locked-${randomUUID()}`;
    await store.start(
      newSagas({ name, leased: false }).map((saga, n) => ({ ...saga, lockKey: `k${n % 10}` })),
      LEASE,
    );
    const { sagas } = await store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 100 });
    sent.statements = [];
    await store.checkpoint(
      sagas.map((saga) => {
        const { state, ...checkpoint } = checkpointOf(saga);
        const lock = { name, key: saga.lock!.key };
        return { ...checkpoint, state: { ...state, status: 'completed' }, release: {}, lock };
      }),
    );
  },
  'abort of a saga with a lock': async () => {
    const [first, second] = newSagas({ name: `locked-${randomUUID()}`, lockKey: 'k' }, 2) as [
      NewSaga,
      NewSaga,
    ];
    await store.start([first, second], LEASE);
    await store.claim({ lease: LEASE, sagas: [first], limit: 2 });
    sent.statements = [];
    const { state } = checkpointOf(first);
    await store.edit(first, () => ({ state: { ...state, status: 'aborted' }, step: '', due: false }));
  },
  'load of a saga that waits for its lock': async () => {
    const [first, second] = newSagas({ name: `locked-${randomUUID()}`, lockKey: 'k' }, 2) as [
      NewSaga,
      NewSaga,
    ];
    await store.start([first, second], LEASE);
    sent.statements = [];
    expect(await store.load(second)).toMatchObject({ lock: { holder: first.id } });
  },
  'claim of sagas with a concurrency': async () => {
    const name = `limited-${randomUUID()}`;
    await store.start(newSagas({ name, leased: false }), LEASE);
    await store.start(newSagas({ leased: false }), LEASE);
    sent.statements = [];
    const sagas = [
      { name, version: 1, concurrency: 100 },
      { name: 'order', version: 1 },
    ];
    const { length } = (await store.claim({ lease: LEASE, sagas, limit: 50 })).sagas;
    expect(length).toBe(50);
  },
  'claim in the place of leases that have run out': async () => {
    const name = `limited-${randomUUID()}`;
    await store.start(newSagas({ name, leased: false }), LEASE);
    const claim = { sagas: [{ name, version: 1, concurrency: 50 }], limit: 50 };
    await store.claim({ ...claim, lease: { ...LEASE, duration: 0 } });
    sent.statements = [];
    expect((await store.claim({ ...claim, lease: { ...LEASE, duration: 0 } })).sagas).toHaveLength(50);
  },
  'claim while a concurrency is used up': async () => {
    const name = `limited-${randomUUID()}`;
    await store.start(newSagas({ name, leased: false }), LEASE);
    const claim = { lease: LEASE, sagas: [{ name, version: 1, concurrency: 50 }], limit: 100 };
    await store.claim(claim);
    sent.statements = [];
    expect((await store.claim(claim)).sagas).toEqual([]);
  },
  'load of a saga that waits for a concurrency': async () => {
    const [first, second] = newSagas({ name: `limited-${randomUUID()}`, leased: false }, 2) as [
      NewSaga,
      NewSaga,
    ];
    await store.start([first, second], LEASE);
    const sagas = [{ name: first.name, version: 1, concurrency: 1 }];
    const [taken] = (await store.claim({ lease: LEASE, sagas, limit: 1 })).sagas;
    sent.statements = [];
    const waiting = taken!.id === first.id ? second : first;
    expect(await store.load(waiting)).toMatchObject({ slotsTaken: 1 });
  },
  'a look at what has not ended, in pages': async () => {
    await store.start(newSagas({ leased: false }), LEASE);
    sent.statements = [];
    const order = { name: 'order', version: 1 };
    for (let after: string | undefined, more = true; more; more = after !== undefined)
      after = (await graphs.unfinished(order, 100, after)).next;
  },
  'keeping an older graph': async () => {
    const name = `drifted-${randomUUID()}`;
    await store.start(newSagas({ name, leased: false }), LEASE);
    sent.statements = [];
    await graphs.exclusively((writer) => writer.keep({ name, version: 1 }, 1));
  },
  'reserve of a rate limit': () =>
    store.reserve({ saga: 'order', step: 'charge', count: 10, per: 1_000 }, 20),
  'find of those that need a person': () => store.find({ status: ['stuck'], limit: 50 }),
  'find by correlation id': async () => {
    await store.find({ name: 'order', correlationId: 'old-7', limit: 50 });
    await store.find({ correlationId: randomUUID(), limit: 50 });
  },
};

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** What a join joins, without the subqueries that are run for each of its rows. */
function inputsOf(plan: PlanNode): PlanNode[] {
  const inputs = (plan.Plans ?? []).filter((node) => !/Plan$/.test(node['Parent Relationship'] ?? ''));
  return [plan, ...inputs.flatMap(inputsOf)];
}

/** The plans of all statements of a call, as they are carried out, those inside of functions included. */
async function plansOf(call: string): Promise<{ text: string; nodes: PlanNode[] }[]> {
  sent.statements = [];
  await CALLS[call]!();
  const statements = sent.statements.filter(({ text }) => /saga"?\./.test(text));
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
const TABLES = /^(instance|step|signal|rate_limit|concurrency)$/;

/** A whole table read, or hashed, whatever its size. */
function wholeTables(nodes: PlanNode[]): string[] {
  const scans = nodes
    .filter((node) => node['Node Type'] === 'Seq Scan' && TABLES.test(node['Relation Name'] ?? ''))
    .map((node) => `Seq Scan on ${node['Relation Name']}`);
  const joins = nodes
    .filter((node) => /^(Hash|Merge) Join$/.test(node['Node Type']))
    .filter((node) => inputsOf(node).some((inner) => TABLES.test(inner['Relation Name'] ?? '')))
    .map((node) => node['Node Type']);
  return [...scans, ...joins];
}

beforeAll(async () => {
  await client.query(`LOAD 'auto_explain'`);
  const settings = {
    ...{ log_min_duration: 0, log_nested_statements: 'on', log_analyze: 'on' },
    ...{ log_format: 'json', log_level: 'notice' },
  };
  for (const [name, value] of Object.entries(settings))
    await client.query(`SET auto_explain.${name} = '${value}'`);
});

describe.each([
  ['the statistics say that the tables are empty', `SELECT`],
  ['the planner takes them for tiny', `UPDATE pg_class SET reltuples = 10, relpages = 1`],
  ['the planner takes them for huge', `UPDATE pg_class SET reltuples = 1e9, relpages = 1000`],
  ['nobody knows', `UPDATE pg_class SET reltuples = -1, relpages = 0`],
  ['the statistics are right', `ANALYZE saga.instance, saga.step`],
])('when %s', (_, lie) => {
  beforeAll(async () => {
    const tables = lie.startsWith('UPDATE')
      ? ` WHERE oid IN ('saga.instance'::regclass, 'saga.step'::regclass)`
      : '';
    await client.query(lie + tables);
  });

  test.each(Object.keys(CALLS))('%s reads no whole table', async (call) => {
    for (const { text, nodes } of await plansOf(call)) {
      expect({ text, whole: wholeTables(nodes) }).toEqual({ text, whole: [] });
    }
  });

  test.each(['claim', 'claim of sagas with a concurrency', 'claim of sagas that were sent signals'])(
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

test.each(['claim', 'claim of sagas with a concurrency'])(
  'a %s reads no more of a backlog than it takes, however long that is',
  async (call) => {
    await client.query(`
    INSERT INTO saga.instance (id, name, version, status, step, priority, epoch, due_at, rank_at)
    SELECT gen_random_uuid(), 'order', 1, 'running', 'reserve', 0, 0, now() - interval '1 minute', now() - interval '1 minute'
    FROM generate_series(1, 20000)`);
    for (const { nodes } of await plansOf(call)) {
      const read = nodes
        .filter((node) => node['Relation Name'] === 'instance')
        .map(
          (node) =>
            ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) *
            (node['Actual Loops'] ?? 1),
        );
      expect(Math.max(...read)).toBeLessThanOrEqual(300);
    }
  },
);
