import type { ModuleMetadata } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import pg from 'pg';
import { pgDatabase } from '../../libs/saga/src/databases/pg/index.js';
import { Saga, type SagaModuleOptions, Step, type StepContext } from '../../libs/saga/src/index.js';
import { type AdminApp, AdminApps } from '../admin/support/admin-apps.js';
import { saga } from '../cli/support/saga-bin.js';
import { type EmbeddedServer, startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { until } from '../support/gate.js';

const apps = AdminApps.onOwnDatabase();

@Saga({ name: 'greet' })
class Greet {
  @Step() greet(ctx: StepContext<{ name: string }>) {
    return `hello ${ctx.input.name}`;
  }
}

let primary: EmbeddedServer;
let standby: EmbeddedServer;
let pool: pg.Pool;

beforeAll(async () => {
  primary = await startEmbeddedPostgres();
  standby = await primary.startStandby();
});

afterAll(async () => {
  await standby.stop();
  await primary.stop();
});

beforeEach(() => {
  pool = new pg.Pool({ connectionString: standby.url });
});

afterEach(() => pool.end());

const start = (
  readFrom: SagaModuleOptions['readFrom'] = pgDatabase(pool),
  imports: ModuleMetadata['imports'] = [],
): Promise<AdminApp> =>
  apps.start({ sagas: [Greet], dataSource: { url: primary.url }, options: { readFrom }, imports });

async function greeted({ sagas }: AdminApp, name: string): Promise<string> {
  const handle = await sagas.start(Greet, { name });
  await handle.outcome();
  return handle.id;
}

describe('with readFrom', () => {
  test('lists and rates are from the standby and say how old they are, and everything else is current', async () => {
    const app = await start();
    const { sagas, operations, client } = app;
    const first = await greeted(app, 'a');
    const listed = async (): Promise<string[]> => (await sagas.find()).items.map(({ id }) => id);
    // A standby without the tables yet cannot be read: the primary answers for ten seconds.
    const isListed = (id: string) => async () => {
      const { items, asOf } = await sagas.find();
      return asOf && items.some((item) => item.id === id);
    };
    await until(isListed(first));
    const { items, asOf } = await sagas.find();
    expect(items).toContainEqual(expect.objectContaining({ id: first, saga: 'greet' }));
    expect(Math.abs(Date.now() - asOf!.getTime())).toBeLessThan(60_000);

    await pool.query('SELECT pg_wal_replay_pause()');
    await until(async () => {
      const { rows } = await pool.query<{ state: string }>('SELECT pg_get_wal_replay_pause_state() AS state');
      return rows[0]!.state === 'paused';
    });
    const second = await greeted(app, 'b');
    const { createdAt } = await sagas.get(second);
    expect(await listed()).not.toContain(second);
    const page = await sagas.find();
    expect(page.asOf!.getTime()).toBeLessThan(createdAt.getTime());
    const [list, rates] = [await client.get('/api/sagas'), await client.get('/api/rates')];
    expect(list.body).toMatchObject({ asOf: page.asOf!.toISOString() });
    expect(rates.body).toMatchObject({ asOf: page.asOf!.toISOString() });
    expect((await client.get(`/api/sagas/${second}`)).body).toMatchObject({ status: 'completed' });
    // What acts on many sagas finds them on the primary.
    const counted = await operations.bulk('undo', { saga: Greet }, { dryRun: true });
    expect(counted.matched).toBe(2);

    await pool.query('SELECT pg_wal_replay_resume()');
    await until(isListed(second));
  });

  test('the primary answers while the standby cannot, from the start on', async () => {
    await standby.halt('fast');
    const app = await start();
    const id = await greeted(app, 'c');
    const page = await app.sagas.find();
    expect(page.items[0]).toMatchObject({ id });
    expect(page).not.toHaveProperty('asOf');
    expect((await app.client.get('/api/rates')).body).not.toHaveProperty('asOf');
    await standby.resume();
  });

  test('the standby is a DataSource of TypeORM, by its name', async () => {
    const imports = [TypeOrmModule.forRoot({ type: 'postgres', name: 'standby', url: standby.url })];
    const app = await start('standby', imports);
    const id = await greeted(app, 'd');
    await until(async () => {
      const { items, asOf } = await app.sagas.find();
      return asOf && items[0]?.id === id;
    });
  });

  test('the command line lists the sagas of a standby', async () => {
    const id = await greeted(await start(), 'e');
    await until(async () => {
      const { code, out, error } = await saga(['list', '--json', '--url', standby.url]);
      expect({ code, error }).toEqual({ code: 0, error: '' });
      return out.includes(id);
    });
  });

  test('another server is refused at start-up', async () => {
    const other = new pg.Pool({ connectionString: process.env.TEST_DATABASE_URL });
    await expect(start(pgDatabase(other))).rejects.toThrow(
      /^SagaModule: readFrom leads to the database '\w+' of the server \d+, but the sagas are in 'postgres' of \d+\. Give a streaming standby/,
    );
    await other.end();
  });
});
