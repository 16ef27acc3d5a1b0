import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import {
  Saga,
  type SagaAmbient,
  SagaTransactionError,
  SagaValidationError,
  Step,
  SubSaga,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { LayerApps } from './contract/layer-apps.js';
import { PG } from './layers/pg.layer.js';

interface Store {
  readonly transaction?: pg.PoolClient;
  readonly tags?: Record<string, string>;
}

const context = new AsyncLocalStorage<Store>();
const ambient: SagaAmbient = {
  transaction: () => context.getStore()?.transaction,
  tags: () => context.getStore()?.tags,
};
const seen: (Store | undefined)[] = [];

@Saga({ name: 'payment' })
class Payment {
  @WaitFor({ signal: 'paid' }) pay(_ctx: object, amount: number) {
    return amount;
  }
}

@Saga({ name: 'shipment' })
class Shipment {
  @Step() ship() {
    seen.push(context.getStore());
  }
}

@Saga({ name: 'order' })
class Order {
  @Step() reserve() {
    seen.push(context.getStore());
  }
  @SubSaga(() => Shipment) ship() {
    return {};
  }
}

describe('forRoot({ ambient })', () => {
  const apps = LayerApps.of(PG);
  const start = (given: SagaAmbient = ambient) =>
    apps.start({ sagas: [Order, Shipment, Payment], options: { ambient: given } });
  beforeEach(() => seen.splice(0));

  /** Runs work in a transaction of the context, which is rolled back. */
  const rolledBack = async (source: pg.Pool, work: () => Promise<unknown>) => {
    const transaction = await source.connect();
    await transaction.query('BEGIN');
    try {
      return await context.run({ transaction }, work);
    } finally {
      await transaction.query('ROLLBACK');
      transaction.release();
    }
  };

  test('start, signal, publish and once are part of the transaction of their context', async () => {
    const { sagas, outbox, inbox, layer } = await start();
    const { id } = await sagas.start(Payment, {});
    await rolledBack(layer.source as pg.Pool, async () => {
      await sagas.start(Order, {}, { correlationId: 'o-1' });
      await sagas.signal(id, 'paid', 1);
      await outbox.publish({ topic: 'orders', payload: 1 });
      const work = async (transaction: pg.PoolClient) => layer.write(transaction, 'handled');
      expect(await inbox.once('m-1', work)).toMatchObject({ handled: true });
    });
    expect(await apps.sql(`SELECT FROM saga.instance WHERE correlation_id = 'o-1'`)).toEqual([]);
    expect(await apps.sql('SELECT FROM saga.signal')).toEqual([]);
    expect(await apps.sql('SELECT FROM saga.outbox')).toEqual([]);
    expect(await apps.sql('SELECT FROM saga.inbox')).toEqual([]);
    expect(await apps.effects()).toEqual([]);
  });

  test('a transaction that is given comes first', async () => {
    const { sagas, layer } = await start();
    await layer.transaction(async (given) => {
      await rolledBack(layer.source as pg.Pool, () =>
        sagas.start(Order, {}, { correlationId: 'o-2', transaction: given }),
      );
    });
    expect((await sagas.wait({ saga: Order, correlationId: 'o-2' })).status).toBe('completed');
  });

  test('without a transaction in the context, start has its own, and publish and once are refused', async () => {
    const { sagas, outbox, inbox } = await start();
    const order = await sagas.start(Order, {});
    expect((await order.outcome()).status).toBe('completed');
    const refusals = [outbox.publish({ topic: 'orders', payload: 1 }), inbox.once('m-2', () => undefined)];
    for (const refused of await Promise.allSettled(refusals)) {
      const { reason } = refused as PromiseRejectedResult;
      expect(reason).toBeInstanceOf(SagaTransactionError);
      expect(reason).toHaveProperty('message', expect.stringContaining('none is open in its context'));
    }
  });

  test('tags of the context are stored, those of the call come first, and sub-sagas have them', async () => {
    const { sagas } = await start();
    const order = await context.run({ tags: { tenant: 'acme', user: 'ada' } }, () =>
      sagas.start(Order, {}, { tags: { user: 'bob' } }),
    );
    await order.outcome();
    const { items } = await sagas.find({ tags: { tenant: 'acme', user: 'bob' } });
    expect(items.map(({ saga }) => saga).sort()).toEqual(['order', 'shipment']);
    const invalid = context.run({ tags: { tenant: '' } }, () => sagas.start(Order, {}));
    await expect(invalid).rejects.toBeInstanceOf(SagaValidationError);
  });

  test('methods are called in the context that is made of the tags', async () => {
    const run: SagaAmbient['run'] = (tags, method) => context.run({ tags }, method);
    const { sagas } = await start({ ...ambient, run });
    const order = await context.run({ tags: { tenant: 'acme' } }, () => sagas.start(Order, {}));
    await order.outcome();
    expect(seen).toEqual([{ tags: { tenant: 'acme' } }, { tags: { tenant: 'acme' } }]);
  });

  test('methods are not called in the context of a start, whose transaction has ended', async () => {
    const { sagas } = await start();
    const within = () => context.run({ tags: { tenant: 'acme' } }, () => sagas.start(Order, {}));
    const orders = await Promise.all(Array.from({ length: 5 }, within));
    await Promise.all(orders.map(({ outcome }) => outcome()));
    expect(seen).toEqual(Array.from({ length: 10 }, () => undefined));
  });

  test('an option that cannot be used stops the application, with its name', async () => {
    const wrong = { transaction: {}, transactions: () => undefined } as never;
    await expect(start(wrong)).rejects.toThrow(/ambient\.transaction is .*give a function/s);
    await expect(start(wrong)).rejects.toThrow("'ambient.transactions'");
  });
});
