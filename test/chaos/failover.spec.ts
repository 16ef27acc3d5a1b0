import { Saga, Step, type StepContext } from '../../libs/saga/src/index.js';
import { type EmbeddedServer, startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { Gate, pause, until } from '../support/gate.js';
import { type TestApp, TestApps } from '../support/test-app.js';
import pg from 'pg';
import { TcpProxy } from './rig/src/tcp-proxy.js';

const apps = TestApps.onOwnDatabase();

let [charge, ship] = [new Gate(), new Gate()];
let shipping = new Gate();
const calls: string[] = [];

@Saga({ name: 'order' })
class Order {
  @Step() async charge({ idempotencyKey }: StepContext<unknown>) {
    calls.push(idempotencyKey);
    await charge.opened;
    return { charged: calls.length };
  }
  @Step() async ship({ idempotencyKey }: StepContext<unknown>) {
    calls.push(idempotencyKey);
    shipping.open();
    await ship.opened;
    return 'shipped';
  }
  @Step({ transactional: true }) async confirm() {
    return 'confirmed';
  }
}

/** A primary, its standby, the stream between them, and the address that clients know. */
class Servers {
  constructor(
    readonly primary: EmbeddedServer,
    readonly standby: EmbeddedServer,
    readonly stream: TcpProxy,
    readonly address: TcpProxy,
  ) {}

  static async start(): Promise<Servers> {
    const primary = await startEmbeddedPostgres();
    const stream = await TcpProxy.before({ host: '127.0.0.1', port: primary.port });
    const standby = await primary.startStandby(stream.port);
    return new Servers(
      primary,
      standby,
      stream,
      await TcpProxy.before({ host: '127.0.0.1', port: primary.port }),
    );
  }

  get url(): string {
    const url = new URL(this.primary.url);
    url.port = String(this.address.port);
    return url.href;
  }

  async stop(): Promise<void> {
    await Promise.all([this.stream.close(), this.address.close()]);
    await Promise.all([this.standby.stop(), this.primary.stop()]);
  }
}

async function rows<Row extends object>(server: EmbeddedServer, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

let servers: Servers;
let app: TestApp;

beforeEach(async () => {
  [charge, ship, shipping] = [new Gate(), new Gate(), new Gate()];
  calls.length = 0;
  servers = await Servers.start();
  app = await apps.start({
    sagas: [Order],
    dataSource: { url: servers.url },
    options: { worker: { lease: '3s' } },
  });
});

afterEach(async () => {
  await app.close();
  await servers.stop();
});

describe('after a failover', () => {
  test('a saga whose last checkpoint the standby did not have continues from what it has', async () => {
    const { id } = await app.sagas.start(Order, {});
    await until(() =>
      rows(servers.standby, 'SELECT FROM saga.instance')
        .then((found) => found.length > 0)
        .catch(() => false),
    );
    // From here on, the standby receives nothing.
    servers.stream.treat({ kind: 'drop' });
    charge.open();
    await shipping.opened;
    await until(async () => {
      const { steps } = await app.sagas.get(id);
      return steps.find(({ name }) => name === 'charge')?.status === 'completed';
    });
    await servers.primary.halt('immediate');
    await servers.standby.promote();
    servers.address.pointTo(servers.standby.port);
    ship.open();
    const outcome = await app.sagas.wait(id, { timeout: '60s' });
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { charge: { charged: expect.any(Number) as number }, ship: 'shipped', confirm: 'confirmed' },
    });
    expect(new Set(calls)).toEqual(new Set([`${id}:charge`, `${id}:ship`]));
    expect(calls.filter((key) => key === `${id}:charge`)).toHaveLength(2);
  });

  test('nothing is written on the server that was the primary, though the address leads to it again', async () => {
    charge.open();
    ship.open();
    await (await app.sagas.start(Order, {})).outcome();
    await servers.standby.promote();
    servers.address.pointTo(servers.standby.port);
    servers.address.cut();
    await (await app.sagas.start(Order, {})).outcome();
    servers.address.pointTo(servers.primary.port);
    servers.address.cut();
    const before = await rows(servers.primary, 'SELECT count(*) FROM saga.instance');
    const starting = app.sagas.start(Order, {});
    await pause(1_000);
    servers.address.pointTo(servers.standby.port);
    servers.address.cut();
    const { id } = await starting;
    await expect(app.sagas.wait(id)).resolves.toMatchObject({ status: 'completed' });
    expect(await rows(servers.primary, 'SELECT count(*) FROM saga.instance')).toEqual(before);
  });
});
