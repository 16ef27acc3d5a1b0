import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { pgDatabase } from '../../../libs/saga/src/databases/pg/index.js';
import {
  Saga,
  type SagaHandle,
  type SagaService,
  SagaShardUnavailableError,
  Step,
  type StepContext,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { SagaMessagingModule } from '../../../libs/messaging/src/index.js';
import { sagaHere } from '../../cli/support/saga-here.js';
import { MemoryBroker } from '../../messaging/support/memory-broker.js';
import { type EmbeddedServer, startEmbeddedPostgres } from '../../support/embedded-postgres.mjs';
import { pause, until } from '../../support/gate.js';
import { ShardApps } from '../../support/shard-apps.js';
import { type LoadedSaga, ShardLoad, StepRuns } from '../../support/shard-load.js';

const runs = new StepRuns();

@Saga({ name: 'payment' })
class PaymentSaga {
  @Step() reserve(ctx: StepContext<object>) {
    runs.ran(ctx);
    ctx.publish({ topic: 'reserved', payload: ctx.sagaId });
  }
  @WaitFor({ signal: 'paid', after: 'reserve' }) paid(ctx: StepContext<object>, amount: number) {
    runs.ran(ctx);
    return amount;
  }
}

@Saga({ name: 'shipment' })
class ShipmentSaga {
  @Step({ delay: '300ms' }) async send(ctx: StepContext<object>) {
    runs.ran(ctx);
    await pause(100);
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  @SubSaga(() => ShipmentSaga) ship() {
    return {};
  }
  @Step({ after: 'ship' }) end(ctx: StepContext<object>) {
    runs.ran(ctx);
  }
}

@Saga({ name: 'account', lockKey: ({ input }: { input: { account: string } }) => input.account })
class AccountSaga {
  @Step({ delay: '50ms' }) open(ctx: StepContext<{ account: string }>) {
    runs.ran(ctx);
  }
}

const sagas = [PaymentSaga, ShipmentSaga, OrderSaga, AccountSaga];
const apps = ShardApps.over();
const broker = new MemoryBroker();
const servers: EmbeddedServer[] = [];
const pools: pg.Pool[] = [];
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  for (const server of servers) await server.stop();
});

/** A server with a database `shop`. */
async function server(settings: Record<string, string>) {
  const started = await startEmbeddedPostgres({
    settings: { fsync: 'off', full_page_writes: 'off', ...settings },
  });
  servers.push(started);
  await sql(started.url, 'CREATE DATABASE shop');
  const url = new URL(started.url);
  url.pathname = '/shop';
  return url.href;
}

async function sql<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const poolTo = (url: string) => {
  const pool = new pg.Pool({ connectionString: url });
  pool.on('error', () => undefined);
  pools.push(pool);
  return pool;
};

/** A process. Two schemas of one server, or of two, and another shard that stays where it is. */
function application(eu: pg.Pool, others: pg.Pool) {
  const at = (pool: pg.Pool, schema: string) => ({ database: pgDatabase(pool), schema });
  return apps.start({
    ...{ sagas, shards: [] },
    imports: [SagaMessagingModule.forRoot({ transport: broker, relay: { pollInterval: '50ms' } })],
    options: {
      // A lease that is lost, because the machine is busy, is another run of a step.
      worker: { pollInterval: '50ms', lease: '60s' },
      shards: { eu: at(eu, 'saga_eu'), us: at(others, 'saga_us'), asia: at(others, 'saga_asia') },
    },
  });
}

/** The statements of the page, in their order, with where they run. */
function statementsOfThePage(): {
  readonly where: 'old' | 'new';
  readonly repeats: boolean;
  readonly text: string;
}[] {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/shards.md', import.meta.url)), 'utf8');
  const section = page.slice(
    page.indexOf('## Give a shard its own server'),
    page.indexOf('## Remove a shard'),
  );
  return [...section.matchAll(/```psql\n-- on the (old|new) server(, until it is true)?\n([^]*?)\n```/g)].map(
    ([, where, repeats, text]) => ({
      where: where as 'old' | 'new',
      repeats: repeats !== undefined,
      text: text!,
    }),
  );
}

/** The processes that are asked may end, and a shard may be closed. Calls are repeated then. */
let service: SagaService;

async function repeated<T>(call: (sagas: SagaService) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call(service);
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== 'SAGA_SHARD_UNAVAILABLE' && code !== 'SAGA_UNAVAILABLE') throw error;
      await pause(20);
    }
  }
}

async function runToEnd(
  { n, name, correlationId, target, input }: LoadedSaga,
  started: (handle: SagaHandle) => void,
): Promise<void> {
  const handle = await repeated((sagas) => sagas.start(name, input, { correlationId }));
  started(handle);
  if (name === 'payment') {
    await pause((n * 37) % 300);
    await repeated((sagas) => sagas.signal(target, 'paid', n, { messageId: `paid-${n}` }));
  }
  const { status } = await repeated((sagas) => sagas.wait(handle.id, { timeout: '60s' }));
  expect(status).toBe('completed');
}

test('a shard gets its own server by the statements of the page, under load: nothing is lost, and nothing happens twice', async () => {
  const oldUrl = await server({ wal_level: 'logical' });
  const newUrl = await server({});
  const [oldPool, newPool] = [poolTo(oldUrl), poolTo(newUrl)];
  const command = async (words: string, url: string) => {
    const { code, error } = await sagaHere([...words.split(' '), '--url', url, '--schema', 'saga_eu']);
    expect([code, error]).toEqual([0, '']);
  };
  let noted: Record<string, string> = {};
  const pending = statementsOfThePage();
  expect(pending).toHaveLength(11);
  /** Runs the next statements of the page. */
  const run = async (count: number): Promise<Record<string, string>[]> => {
    let rows: Record<string, string>[] = [];
    for (const { where, repeats, text } of pending.splice(0, count)) {
      const statement = text
        .replace("'host=db-old dbname=shop user=replicator'", `'${oldUrl}'`)
        .replace(":'closed_at'", `'${noted.closed_at}'`);
      do rows = await sql(where === 'old' ? oldUrl : newUrl, statement);
      while (repeats && String(rows[0]?.done) !== 'true');
      noted = { ...noted, ...rows[0] };
    }
    return rows;
  };

  const before = [await application(oldPool, oldPool), await application(oldPool, oldPool)];
  service = before[0]!.sagas;
  const load = new ShardLoad(runToEnd);
  await load.goesOn(30);
  await command('migrate', newUrl);
  await run(4);
  await command('shards close eu', oldUrl);
  const listed = await sagaHere(['shards', '--url', oldUrl, '--schema', 'saga_eu']);
  expect(listed.out).toMatch(/^eu {2}closed {2}/);
  // No process changes anything there any more, whatever it believes.
  await expect(sql(oldUrl, 'DELETE FROM saga_eu.instance')).rejects.toThrow('the shard is closed');
  await expect(before[1]!.sagas.start(PaymentSaga, {}, { shard: 'eu' })).rejects.toThrow(
    SagaShardUnavailableError,
  );
  const setval = await run(3);
  for (const { statement } of setval) await sql(newUrl, statement!);
  await run(2);
  const after = await application(newPool, oldPool);
  service = after.sagas;
  expect((await after.shards.list()).map(({ closed }) => closed)).toEqual([true, false, false]);
  for (const app of before) await app.close();
  // What may start anywhere, and the sagas of the other shards, have gone on.
  for (const options of [{}, { shard: 'us' }]) {
    const handle = await after.sagas.start(ShipmentSaga, {}, options);
    load.started.push(handle);
    expect((await handle.outcome()).status).toBe('completed');
  }
  await command('shards open eu', newUrl);
  await run(2);
  await load.goesOn(30);
  await load.end();

  const idsIn = async (url: string, schema: string) =>
    (await sql<{ id: string }>(url, `SELECT id FROM ${schema}.instance`)).map(({ id }) => id);
  const eu = await idsIn(newUrl, 'saga_eu');
  const all = [...eu, ...(await idsIn(oldUrl, 'saga_us')), ...(await idsIn(oldUrl, 'saga_asia'))];
  expect(eu.length).toBeGreaterThan(10);
  expect(load.started.filter(({ id }) => !all.includes(id))).toEqual([]);
  expect(new Set(all).size).toBe(all.length);
  expect(runs.repeated).toEqual([]);
  const payments = runs.of('reserve');
  await until(() => broker.taken.length >= payments);
  expect(new Set(broker.payloads).size).toBe(payments);
  expect(broker.payloads).toHaveLength(payments);
  expect(await sql(oldUrl, "SELECT to_regnamespace('saga_eu')::text AS old")).toEqual([{ old: null }]);
  expect((await after.shards.list()).map(({ counts }) => counts!.unfinished)).toEqual([0, 0, 0]);
});
