import { Controller, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { OnSagaEvent, Saga, Step } from '../../../libs/saga/src/index.js';
import { DurableEvent, type MessageTransport, Outbox } from '../../../libs/messaging/src/index.js';
import { MemoryServer } from '../../messaging/support/memory-server.js';
import { MessagingApps } from '../../messaging/support/messaging-apps.js';
import { Gate, pause } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

/**
 * A resource of the application, like a client of a broker: open from its bootstrap hook until its destroy
 * hook.
 */
@Injectable()
class Client implements OnApplicationBootstrap, OnModuleDestroy {
  private isOpen = false;

  async onApplicationBootstrap() {
    await pause(100);
    this.isOpen = true;
  }

  async onModuleDestroy() {
    this.isOpen = false;
  }

  use() {
    if (!this.isOpen) throw new Error('The client is not open');
  }
}

/** What ends only after the application has begun to close, and then some. */
class Held {
  readonly started = new Gate();
  readonly closing = new Gate();

  async until(use: () => void): Promise<void> {
    use();
    this.started.open();
    await this.closing.opened;
    await pause(100);
    use();
  }
}

describe('the relay', () => {
  const apps = MessagingApps.onOwnDatabase();

  test('sends only while the transport’s providers are open, and not again what it was sending at the close', async () => {
    const held = new Held();
    const problems: unknown[] = [];
    const sent: string[] = [];
    let client: Client | undefined;
    const transport: MessageTransport = {
      send: async ({ payload }) => {
        try {
          if (payload === '"held"') await held.until(() => client!.use());
          else client!.use();
          sent.push(payload);
        } catch (error) {
          problems.push(error);
          throw error;
        }
      },
    };
    @Injectable()
    class Publisher {
      constructor(readonly own: Client) {
        client = own;
      }
    }
    const before = await apps.start({ messaging: { relay: false }, providers: [] });
    await before.dataSource.transaction((manager) =>
      before.outbox.publish(manager, { topic: 'a', payload: 'due' }),
    );
    await before.close();
    const app = await apps.start({ messaging: { transport }, providers: [Client, Publisher] });
    await app.dataSource.transaction((manager) =>
      app.nest.get(Outbox).publish(manager, { topic: 'a', payload: 'held' }),
    );
    await held.started.opened;
    const closed = app.close();
    held.closing.open();
    await closed;
    expect(problems).toEqual([]);
    expect(sent).toEqual(['"due"', '"held"']);
    expect(await apps.outboxRows()).toEqual([]);
  });
});

describe('a handler of messages', () => {
  const apps = MessagingApps.onOwnDatabase();

  test('finds its providers open until it has settled; what comes later is left to the broker', async () => {
    const held = new Held();
    const handled: unknown[] = [];
    @Controller()
    class Handler {
      constructor(private readonly client: Client) {}
      @DurableEvent('orders') async order(payload: unknown) {
        handled.push(payload);
        await held.until(() => this.client.use());
      }
    }
    const strategy = new MemoryServer();
    const app = await apps.start({
      messaging: { relay: false },
      providers: [Client],
      controllers: [Handler],
      microservice: { strategy },
    });
    const first = strategy.deliver('orders', { n: 1 });
    await held.started.opened;
    const closed = app.close();
    const second = expect(strategy.deliver('orders', { n: 2 })).rejects.toThrow();
    held.closing.open();
    await first;
    await second;
    await closed;
    expect(handled).toEqual([{ n: 1 }]);
  });

  test('that never settles keeps no application from closing', async () => {
    const started = new Gate();
    @Controller()
    class Handler {
      @DurableEvent('orders') async order() {
        started.open();
        await new Promise(() => undefined);
      }
    }
    const strategy = new MemoryServer();
    const transport: MessageTransport = { send: async () => undefined };
    const app = await apps.start({
      messaging: { transport, relay: { shutdownTimeout: 20 } },
      controllers: [Handler],
      microservice: { strategy },
    });
    void strategy.deliver('orders', {});
    await started.opened;
    await app.close();
  });
});

describe('an observer', () => {
  const apps = TestApps.onOwnDatabase();

  test('finds its providers open until it has settled', async () => {
    const held = new Held();
    const result = new Gate<unknown>();
    @Saga({ name: 'order' })
    class Order {
      @Step() act() {}
    }
    @Injectable()
    class Alerts {
      constructor(private readonly client: Client) {}
      @OnSagaEvent('completed') async completed() {
        await held.until(() => this.client.use()).then(result.open, result.open);
      }
    }
    const app = await apps.start({ sagas: [Order], providers: [Client, Alerts] });
    await app.sagas.start(Order, {});
    await held.started.opened;
    const closed = app.close();
    held.closing.open();
    await closed;
    expect(await result.opened).toBeUndefined();
  });
});
