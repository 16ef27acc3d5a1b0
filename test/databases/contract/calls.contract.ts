import { randomUUID } from 'node:crypto';
import { Saga, SagaTransactionError, Step, WaitFor } from '../../../libs/saga/src/index.js';
import type { RelayedMessage } from '../../../libs/messaging/src/index.js';
import { until } from '../../support/gate.js';
import type { LayerApp, LayerApps } from './layer-apps.js';

class Revoked extends Error {}
const revoked = () => Promise.reject(new Revoked());

@Saga({ name: 'order' })
class Order {
  @Step() reserve() {
    return 'reserved';
  }
}

@Saga({ name: 'payment' })
class Payment {
  @WaitFor({ signal: 'paid' }) pay(_ctx: object, amount: number) {
    return amount;
  }
}

/** The calls that take a transaction of the application. */
export function describeCalls(apps: LayerApps): void {
  describe('start() in a transaction', () => {
    test('runs the saga if, and only if, the transaction commits', async () => {
      const { layer, sagas } = await apps.start({ sagas: [Order] });
      const order = await layer.transaction(async (transaction) => {
        await layer.write(transaction, 'order');
        const handle = await sagas.start(Order, {}, { transaction });
        expect(await apps.sql('SELECT FROM saga.instance WHERE id = $1', [handle.id])).toEqual([]);
        return handle;
      });
      expect(await order.outcome()).toMatchObject({ status: 'completed', results: { reserve: 'reserved' } });
      const id = randomUUID();
      const failed = layer.transaction(async (transaction) => {
        await layer.write(transaction, 'revoked');
        await sagas.start(Order, {}, { id, transaction });
        await revoked();
      });
      await expect(failed).rejects.toBeInstanceOf(Revoked);
      await expect(sagas.get(id)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
      expect(await apps.effects()).toEqual(['order']);
    });

    test('in a nested transaction that is rolled back stores nothing, and the outer one commits', async () => {
      const { layer, sagas } = await apps.start({ sagas: [Order] });
      const [inner, outer] = [randomUUID(), randomUUID()];
      await layer.transaction(async (transaction) => {
        const nested = layer.nested(transaction, async (own) => {
          await layer.write(own, 'inner');
          await sagas.start(Order, {}, { id: inner, transaction: own });
          await revoked();
        });
        await expect(nested).rejects.toBeInstanceOf(Revoked);
        await layer.nested(transaction, (own) => layer.write(own, 'kept'));
        await sagas.start(Order, {}, { id: outer, transaction });
      });
      expect((await sagas.wait(outer)).status).toBe('completed');
      await expect(sagas.get(inner)).rejects.toMatchObject({ code: 'SAGA_NOT_FOUND' });
      expect(await apps.effects()).toEqual(['kept']);
    });

    test('after a nested transaction that failed with an error of a statement is stored', async () => {
      const { layer, sagas } = await apps.start({ sagas: [Order] });
      const order = await layer.transaction(async (transaction) => {
        await expect(layer.nested(transaction, (own) => layer.fail(own, '23505'))).rejects.toThrow();
        return sagas.start(Order, {}, { transaction });
      });
      expect((await order.outcome()).status).toBe('completed');
    });
  });

  describe('signal() in a transaction', () => {
    test('reaches the saga if, and only if, the transaction commits', async () => {
      const { layer, sagas, operations } = await apps.start({ sagas: [Payment] });
      const { id, outcome } = await sagas.start(Payment, {});
      const failed = layer.transaction(async (transaction) => {
        await sagas.signal(id, 'paid', 1, { transaction });
        await revoked();
      });
      await expect(failed).rejects.toBeInstanceOf(Revoked);
      await layer.transaction((transaction) => sagas.signal(id, 'paid', 2, { transaction }));
      expect((await outcome()).results).toEqual({ pay: 2 });
      const history = await operations.history(id);
      expect(history).toHaveLength(1);
    });

    test('reaches a saga that the same transaction has started', async () => {
      const { layer, sagas } = await apps.start({ sagas: [Payment] });
      const payment = await layer.transaction(async (transaction) => {
        const handle = await sagas.start(Payment, {}, { transaction });
        await sagas.signal(handle.id, 'paid', 3, { transaction });
        return handle;
      });
      expect((await payment.outcome()).results).toEqual({ pay: 3 });
    });
  });

  describe('messages in a transaction', () => {
    const sent: unknown[] = [];
    const transport = {
      send: async ({ payload }: RelayedMessage) => void sent.push(JSON.parse(payload)),
    };
    beforeEach(() => sent.splice(0));

    test('are sent if, and only if, the transaction commits', async () => {
      const { layer, outbox } = await apps.start({ transport });
      const failed = layer.transaction(async (transaction) => {
        await outbox.publish(transaction, { topic: 'orders', payload: 'revoked' });
        await revoked();
      });
      await expect(failed).rejects.toBeInstanceOf(Revoked);
      await layer.transaction((transaction) =>
        outbox.publish(transaction, { topic: 'orders', payload: 'committed' }),
      );
      await until(() => sent.length > 0);
      expect(sent).toEqual(['committed']);
    });

    test('are handled once, in a transaction of the caller and in one that once() opens', async () => {
      const { layer, inbox } = await apps.start();
      const handle = (what: string) => (own: object) => layer.write(own, what).then(() => what);
      const failed = inbox.once('m1', layer.source, async (own: object) => {
        await layer.write(own, 'revoked');
        await revoked();
      });
      await expect(failed).rejects.toBeInstanceOf(Revoked);
      expect(await inbox.once('m1', layer.source, handle('first'))).toEqual({
        handled: true,
        result: 'first',
      });
      expect(await inbox.once('m1', layer.source, handle('second'))).toEqual({ handled: false });
      const again = (id: string) =>
        layer.transaction((transaction) => inbox.once(id, transaction, handle(`own ${id}`)));
      expect(await again('m1')).toEqual({ handled: false });
      expect(await again('m2')).toEqual({ handled: true, result: 'own m2' });
      expect(await again('m2')).toEqual({ handled: false });
      expect(await apps.effects()).toEqual(['first', 'own m2']);
    });
  });

  describe('in a transaction with a failed statement whose error was caught', () => {
    const CALLS: Record<string, (app: LayerApp, transaction: object) => Promise<unknown>> = {
      start: ({ sagas }, transaction) => sagas.start(Order, {}, { transaction }),
      signal: ({ sagas }, transaction) =>
        sagas.signal({ saga: Payment, correlationId: 'p' }, 'paid', 1, { transaction }),
      publish: ({ outbox }, transaction) => outbox.publish(transaction, { topic: 'orders', payload: 1 }),
      once: ({ inbox }, transaction) => inbox.once('m3', transaction, async () => undefined),
    };

    test.each(Object.keys(CALLS))('%s() is refused, and its error has a cause', async (name) => {
      const app = await apps.start({ sagas: [Order, Payment] });
      const { layer } = app;
      let refused: unknown;
      await layer
        .transaction(async (transaction) => {
          await layer.fail(transaction, '23514').catch(() => undefined);
          refused = await CALLS[name]!(app, transaction).catch((error: unknown) => error);
        })
        // Some layers report that COMMIT became ROLLBACK.
        .catch(() => undefined);
      expect(refused).toBeInstanceOf(SagaTransactionError);
      expect((refused as Error).cause).toBeInstanceOf(Error);
    });

    test('once() is refused if its own work has caught it', async () => {
      const { layer, inbox } = await apps.start();
      const work = async (own: object) => {
        await layer.write(own, 'lost');
        await layer.fail(own, '23514').catch(() => undefined);
      };
      await expect(inbox.once('m4', layer.source, work)).rejects.toBeInstanceOf(SagaTransactionError);
      expect(await apps.effects()).toEqual([]);
      expect(await inbox.once('m4', layer.source, async () => 'again')).toMatchObject({ handled: true });
    });
  });
}
