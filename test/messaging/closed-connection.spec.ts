import { randomBytes } from 'node:crypto';
import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { TcpProxy } from '../chaos/rig/src/tcp-proxy.js';
import { type JetStreamContext, JetStreamServer } from '../../libs/messaging/src/index.js';
import { Gate, pause } from '../support/gate.js';
import { startNats } from './support/brokers.js';

/** A stream of its own: several runs may share one server. */
const STREAM = `closing-${randomBytes(6).toString('hex')}`;
const SUBJECT = `${STREAM}.placed`;
/** Milliseconds; half of it passes between two renewals of a message that is being handled. */
const ACK_WAIT = 200;

const nats = await startNats();
afterAll(() => nats?.stop());

const servers: JetStreamServer[] = [];
const proxies: TcpProxy[] = [];

beforeAll(() => void Logger.overrideLogger(false));
afterAll(() => void Logger.overrideLogger(new ConsoleLogger()));
afterEach(async () => {
  await Promise.allSettled(servers.splice(0).map((server) => server.close()));
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
});

/** A server of its own, with a connection that does not come back once it is lost. */
async function startServer(
  consumer: string,
  handle: (context: JetStreamContext) => Promise<void>,
): Promise<{ connection: NatsConnection; proxy: TcpProxy; close(): Promise<void> }> {
  const { hostname, port } = new URL(nats!.url.includes('://') ? nats!.url : `nats://${nats!.url}`);
  const proxy = await TcpProxy.before({ host: hostname, port: Number(port || 4222) });
  proxies.push(proxy);
  const server = new JetStreamServer({
    connection: { servers: `127.0.0.1:${proxy.port}`, maxReconnectAttempts: 0, reconnect: false },
    stream: { name: STREAM, subjects: [`${STREAM}.>`], config: { storage: 'memory' } },
    ...{ consumer, ackWait: ACK_WAIT, consumerConfig: { deliver_policy: 'new' } },
  });
  servers.push(server);
  server.addHandler(SUBJECT, (_data, context) => handle(context), true);
  await new Promise<void>((resolve, reject) => {
    const listening = (error?: unknown) => (error instanceof Error ? reject(error) : resolve());
    void server.listen(listening);
  });
  return { connection: server.unwrap<NatsConnection>(), proxy, close: () => server.close() };
}

/** Timers that keep this process alive. */
const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;

async function publish(): Promise<void> {
  const connection = await connect({ servers: nats!.url });
  await jetstream(connection).publish(SUBJECT, '{}');
  await connection.close();
}

(nats ? describe : describe.skip)('JetStreamServer, while a message is handled', () => {
  test.each<[string, (connection: NatsConnection, proxy: TcpProxy) => Promise<void>]>([
    ['drained by the application', (connection) => connection.drain()],
    ['lost for good', (_, proxy) => proxy.close()],
  ])(
    'and its connection is %s, leaves the message to another process, and closes',
    async (_, end) => {
      const consumer = `test-${randomBytes(6).toString('hex')}`;
      const before = timers();
      const [taken, finish, takenAgain] = [new Gate(), new Gate(), new Gate<number>()];
      const server = await startServer(consumer, async () => {
        taken.open();
        await finish.opened;
      });
      await publish();
      await taken.opened;
      await end(server.connection, server.proxy);
      await server.connection.closed();

      // What renews the message is a timer: an error there would end the process, and here the test.
      await pause(2 * ACK_WAIT);
      const closing = server.close();
      finish.open();
      await expect(closing).resolves.toBeUndefined();
      // The pause before it consumes again is over as well, so that the process can end.
      await new Promise(setImmediate);
      expect(timers()).toBeLessThanOrEqual(before);

      await startServer(consumer, async (context) => {
        await Promise.resolve();
        takenAgain.open(context.getMessage().info.deliveryCount);
      });
      expect(await takenAgain.opened).toBeGreaterThan(1);
    },
    30_000,
  );
});
