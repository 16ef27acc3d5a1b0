import { Saga, SagaNotFoundError, Step, type StepContext } from '../../libs/saga/src/index.js';
import { type EmbeddedServer, startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { Gate, pause, until } from '../support/gate.js';
import { type TestApp, TestApps } from '../support/test-app.js';
import pg from 'pg';
import { TcpProxy } from './rig/src/tcp-proxy.js';

const apps = TestApps.onOwnDatabase();

let [charge, ship] = [new Gate(), new Gate()];
let shipping = new Gate();
const calls: string[] = [];
const confirmed: string[] = [];

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
  @Step({ transactional: true }) async confirm({ sagaId }: StepContext<unknown>) {
    confirmed.push(sagaId);
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
  /** The standby receives nothing from now on. It is promoted with what it has once `lost` has happened. */
  async function failOver(lost: () => Promise<unknown>): Promise<void> {
    servers.stream.treat({ kind: 'drop' });
    await lost();
    await servers.primary.halt('immediate');
    await servers.standby.promote();
    servers.address.pointTo(servers.standby.port);
  }

  const isOnStandby = () =>
    until(() =>
      rows(servers.standby, 'SELECT FROM saga.instance')
        .then((found) => found.length > 0)
        .catch(() => false),
    );

  test('the last checkpoint, which the standby did not have, is put back, and the saga continues with it', async () => {
    const { id } = await app.sagas.start(Order, {});
    await isOnStandby();
    await failOver(async () => {
      charge.open();
      await shipping.opened;
      await until(async () => {
        const { steps } = await app.sagas.get(id);
        return steps.find(({ name }) => name === 'charge')?.status === 'completed';
      });
    });
    ship.open();
    const outcome = await app.sagas.wait(id, { timeout: '60s' });
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { charge: { charged: 1 }, ship: 'shipped', confirm: 'confirmed' },
    });
    // The run of this process went on.
    expect(calls).toEqual([`${id}:charge`, `${id}:ship`]);
    expect(await app.operations.history(id)).toMatchObject([
      { action: 'put-back', from: 'running', reason: 'a failover had lost checkpoints 1 to 1' },
    ]);
  });

  test('sagas of which the standby had nothing are there again, and a lost transaction runs again', async () => {
    charge.open();
    ship.open();
    await (await app.sagas.start(Order, {})).outcome();
    await until(() =>
      rows(servers.standby, `SELECT FROM saga.instance WHERE status = 'completed'`)
        .then((found) => found.length > 0)
        .catch(() => false),
    );
    calls.length = 0;
    let id = '';
    await failOver(async () => {
      const saga = await app.sagas.start(Order, { n: 1 }, { correlationId: 'lost', tags: { of: 'mine' } });
      id = saga.id;
      await saga.outcome();
      confirmed.length = 0;
    });
    const outcome = await app.sagas.wait(id, { timeout: '60s' });
    expect(outcome).toMatchObject({
      status: 'completed',
      results: { ship: 'shipped', confirm: 'confirmed' },
    });
    // What the transaction of `confirm` wrote was lost. The steps before are not repeated.
    expect(calls).toEqual([`${id}:charge`, `${id}:ship`]);
    expect(confirmed).toEqual([id]);
    const again = await app.sagas.get({ saga: Order, correlationId: 'lost' });
    expect(again).toMatchObject({ id, tags: { of: 'mine' }, input: { n: 1 } });
    expect(await app.operations.history(id)).toMatchObject([{ action: 'put-back' }]);
  });

  test('a saga that was deleted is not started again, by whichever process knows of it', async () => {
    charge.open();
    ship.open();
    const options = { worker: false } as const;
    const starter = await apps.start({ sagas: [Order], dataSource: { url: servers.url }, options });
    const { id } = await starter.sagas.start(Order, {});
    await app.sagas.wait(id);
    await pause(5);
    expect(await app.operations.cleanup({ olderThan: '1ms' })).toMatchObject({ deleted: 1 });
    await until(() =>
      rows(servers.standby, 'SELECT FROM saga.deleted')
        .then((found) => found.length > 0)
        .catch(() => false),
    );
    calls.length = 0;
    await failOver(async () => undefined);
    // Each puts back what it knows before it stores anything else.
    for (const { sagas } of [starter, app])
      await sagas.wait((await sagas.start(Order, {})).id, { timeout: '60s' });
    await expect(starter.sagas.get(id)).rejects.toThrow(SagaNotFoundError);
    expect(calls.filter((key) => key.startsWith(id))).toEqual([]);
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
