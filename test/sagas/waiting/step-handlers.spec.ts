import { Controller, Injectable, Module } from '@nestjs/common';
import {
  type HandlerContext,
  RemoteStep,
  type RemoteInput,
  Saga,
  SagaDefinitionError,
  type StepContext,
  StepHandler,
  type TransactionalHandlerContext,
} from '../../../libs/saga/src/index.js';
import {
  journal,
  NO_POLL,
  type Order,
  OrderSaga,
  remoteScene,
  StockHandlers,
} from '../../support/remote-scene.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const { shop, stock, order, waitsForHandler } = remoteScene(apps);
const NO_WORKER = { worker: false } as const;

describe('a transactional handler', () => {
  test('commits what it writes with its own checkpoint, once', async () => {
    class Ledger {
      @StepHandler('ledger.book', { transactional: true, retry: { attempts: 2, delay: 1 } })
      async book({
        manager,
        attempt,
        sagaId,
      }: TransactionalHandlerContext<{ entry: string }>): Promise<string> {
        await manager.query('INSERT INTO booking VALUES ($1)', [sagaId]);
        if (attempt === 1) throw new Error('after the write');
        return 'booked';
      }
    }
    @Saga({ name: 'booking' })
    class BookingSaga {
      @RemoteStep('ledger.book') book(_ctx: StepContext): RemoteInput<Ledger['book']> {
        return { entry: 'a' };
      }
    }
    const { sagas } = await apps.start({ sagas: [BookingSaga], options: NO_POLL });
    const { dataSource } = await apps.start({ providers: [Ledger], options: NO_POLL });
    await dataSource.query('CREATE TABLE booking (saga_id uuid)');
    const { id, outcome } = await sagas.start(BookingSaga, undefined);
    expect(await outcome()).toMatchObject({ status: 'completed', results: { book: 'booked' } });
    expect(await apps.sql('SELECT * FROM booking')).toEqual([{ saga_id: id }]);
  });
});

describe('a message that a handler publishes', () => {
  test('is sent once the result of the handler is stored, in the name of the calling saga', async () => {
    class Announcing {
      @StepHandler('announce', { retry: { attempts: 2, delay: 1 } })
      announce(ctx: HandlerContext): void {
        ctx.publish({ topic: 'stock', payload: ctx.attempt });
        if (ctx.attempt === 1) throw new Error('after all not');
      }
    }
    @Saga({ name: 'announcing' })
    class AnnouncingSaga {
      @RemoteStep('announce') announce(): void {}
    }
    const { sagas } = await apps.start({
      sagas: [AnnouncingSaga],
      providers: [Announcing],
      options: NO_POLL,
    });
    const { id, outcome } = await sagas.start(AnnouncingSaga, undefined);
    await outcome();
    const sent = await apps.sql('SELECT aggregateid, payload, headers FROM saga.outbox');
    expect(sent).toEqual([
      { aggregateid: id, payload: 2, headers: expect.objectContaining({ 'saga-id': id }) },
    ]);
    expect(sent[0]!.headers).toMatchObject({ traceparent: expect.stringContaining(id.replaceAll('-', '')) });
  });
});

describe('versions of a handler', () => {
  class First {
    @StepHandler('greet') greet(): string {
      return 'hello';
    }
  }
  class Second {
    @StepHandler('greet', { version: 2 }) greet(): string {
      return 'good morning';
    }
  }
  @Saga({ name: 'greeting' })
  class GreetingSaga {
    @RemoteStep('greet') one(): void {}
    @RemoteStep('greet', { version: 2 }) two(): void {}
  }

  test('in two processes: each takes what asks for its own', async () => {
    const app = await apps.start({ sagas: [GreetingSaga], providers: [First], options: NO_POLL });
    const { id, outcome } = await app.sagas.start(GreetingSaga, undefined);
    expect(await waitsForHandler(app, id, 'two')).toMatchObject({ handler: 'greet', version: 2 });
    await apps.start({ providers: [Second], options: NO_POLL });
    expect((await outcome()).results).toEqual({ one: 'hello', two: 'good morning' });
  });

  test('may be side by side in one process', async () => {
    const { sagas } = await apps.start({
      sagas: [GreetingSaga],
      providers: [First, Second],
      options: NO_POLL,
    });
    const { outcome } = await sagas.start(GreetingSaga, undefined);
    expect((await outcome()).results).toEqual({ one: 'hello', two: 'good morning' });
  });
});

describe('a worker that is given the classes that it runs', () => {
  test('runs no handlers of others', async () => {
    const app = await apps.start({
      sagas: [OrderSaga],
      providers: [StockHandlers],
      options: { worker: { sagas: [OrderSaga], pollInterval: '1h' } },
    });
    const { id } = await order(app.sagas);
    expect(await waitsForHandler(app, id)).toMatchObject({ handler: 'stock.reserve' });
  });

  test('runs those of the providers among them, and no sagas of others', async () => {
    const options = { worker: { sagas: [StockHandlers], pollInterval: '1h' as const } };
    await apps.start({ sagas: [OrderSaga], providers: [StockHandlers], options });
    const { sagas } = await shop(NO_WORKER);
    const { id } = await order(sagas);
    await shop();
    expect((await sagas.wait(id)).status).toBe('completed');
    expect(journal).toEqual(['shop: pay', 'stock: reserve cup', 'shop: ship']);
  });

  test('refuses a class that is neither', async () => {
    class Neither {}
    await expect(
      apps.start({ providers: [Neither], options: { worker: { sagas: [Neither] } } }),
    ).rejects.toThrow('Neither is not a saga of this application');
  });
});

describe('at start-up', () => {
  test('two providers with one handler are refused, and both are named', async () => {
    @Injectable()
    class OtherStock {
      @StepHandler('stock.reserve') take() {}
    }
    @Module({ providers: [OtherStock] })
    class WarehouseModule {}
    const starting = apps.start({ providers: [StockHandlers], imports: [WarehouseModule] });
    await expect(starting).rejects.toThrow(SagaDefinitionError);
    await expect(starting).rejects.toThrow(
      /(StockHandlers\.reserve \(TestModule\) and OtherStock\.take \(WarehouseModule\)|OtherStock\.take \(WarehouseModule\) and StockHandlers\.reserve \(TestModule\)) both declare the handler 'stock\.reserve' in version 1\. Give one of them another name/,
    );
  });

  test('a provider in two modules is refused', async () => {
    @Module({ providers: [StockHandlers] })
    class WarehouseModule {}
    await expect(apps.start({ providers: [StockHandlers], imports: [WarehouseModule] })).rejects.toThrow(
      /StockHandlers is provided by \w+ and by \w+/,
    );
  });

  test('a handler that a factory provides is found, and an alias of it is the same', async () => {
    const { sagas } = await apps.start({
      sagas: [OrderSaga],
      providers: [
        { provide: 'STOCK', useFactory: () => Object.assign(new StockHandlers(), { app: 'factory' }) },
        { provide: 'ALIAS', useExisting: 'STOCK' },
      ],
      options: NO_POLL,
    });
    await (await order(sagas)).outcome();
    expect(journal).toContain('factory: reserve cup');
  });

  test('one of a controller is found', async () => {
    @Controller()
    class ClockController {
      @StepHandler('tell.time') tell(): string {
        return 'late';
      }
    }
    @Module({ controllers: [ClockController] })
    class ClockModule {}
    @Saga({ name: 'asking' })
    class AskingSaga {
      @RemoteStep('tell.time') ask(): void {}
    }
    const { sagas } = await apps.start({
      sagas: [AskingSaga],
      imports: [ClockModule],
      options: NO_POLL,
    });
    expect((await (await sagas.start(AskingSaga, undefined)).outcome()).results).toEqual({ ask: 'late' });
  });

  test('a request-scoped one is refused', async () => {
    @Injectable({ scope: 2 })
    class ScopedHandlers {
      @StepHandler('scoped') run() {}
    }
    await expect(apps.start({ providers: [ScopedHandlers] })).rejects.toThrow(
      'ScopedHandlers is request-scoped or transient, itself or through a dependency, but its step handlers run after the end of',
    );
  });

  test('a saga may have the name of a handler, and is another thing', async () => {
    @Saga({ name: 'stock.reserve' })
    class NamesakeSaga {
      @RemoteStep('stock.reserve') reserve(ctx: StepContext<Order>): RemoteInput<StockHandlers['reserve']> {
        return ctx.input;
      }
    }
    const { sagas } = await apps.start({
      sagas: [NamesakeSaga],
      providers: [StockHandlers],
      options: NO_POLL,
    });
    const { outcome } = await sagas.start(NamesakeSaga, { sku: 'cup' });
    expect((await outcome()).results).toEqual({ reserve: { id: 'for reserve' } });
    const { items } = await sagas.find({ saga: 'handler:stock.reserve' });
    expect(items).toMatchObject([{ saga: 'handler:stock.reserve', status: 'completed' }]);
  });

  test('a handler whose shape changed, and whose version has not, takes the calls that it has not begun', async () => {
    const app = await shop();
    await (await stock()).close();
    const { id } = await order(app.sagas);
    await waitsForHandler(app, id);
    class Changed {
      @StepHandler('stock.reserve') reserve() {
        return { id: 'by the changed one' };
      }
    }
    await apps.start({ providers: [Changed] });
    expect((await app.sagas.wait(id)).results).toMatchObject({ reserve: { id: 'by the changed one' } });
  });
});
