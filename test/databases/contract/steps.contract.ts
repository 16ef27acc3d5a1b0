import {
  Saga,
  type SagaModuleOptions,
  Step,
  StepRejectedError,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { Gate } from '../../support/gate.js';
import type { Layer } from '../layers/layer.js';
import type { LayerApps } from './layer-apps.js';

type Context = TransactionalStepContext<object, unknown, object>;
type Compensation = TransactionalCompensationContext<object, unknown, unknown, object>;
/** The first two commits of a row of `effect` fail with a serialization failure. */
const FAILING_COMMIT = `
  CREATE SEQUENCE refusals;
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('refusals') < 3 THEN RAISE EXCEPTION 'refused' USING ERRCODE = '40001'; END IF;
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION refuse()`;
const RETRY = { attempts: 3, delay: 1 };

/** Transactional steps. The methods receive the transactions of the layer. */
export function describeSteps(apps: LayerApps): void {
  let layer: Layer;
  const startWith = async (saga: new () => object, options?: SagaModuleOptions) => {
    const app = await apps.start({ sagas: [saga], options });
    layer = app.layer;
    return app;
  };

  describe('a transactional step', () => {
    test('commits its writes and its checkpoint together', async () => {
      const [wrote, go] = [new Gate(), new Gate()];
      @Saga({ name: 'order' })
      class Order {
        @Step({ transactional: true }) async book({ transaction }: Context) {
          await layer.write(transaction, 'book');
          wrote.open();
          await go.opened;
          return 'booked';
        }
      }
      const { sagas } = await startWith(Order);
      const order = await sagas.start(Order, {});
      await wrote.opened;
      expect(await apps.effects()).toEqual([]);
      go.open();
      expect(await order.outcome()).toMatchObject({ status: 'completed', results: { book: 'booked' } });
      // The very transaction.
      expect(
        await apps.sql(
          `SELECT e.what FROM effect e, saga.step s WHERE e.xmin = s.xmin AND s.saga_id = $1 AND s.name = 'book'`,
          [order.id],
        ),
      ).toEqual([{ what: 'book' }]);
    });

    test('leaves no writes behind if it fails, and its compensation has a transaction as well', async () => {
      @Saga({ name: 'order', retry: RETRY, compensationRetry: RETRY })
      class Order {
        @Step({ transactional: true, compensate: 'unbook' }) async book(ctx: Context) {
          await layer.write(ctx.transaction, `book ${ctx.attempt}`);
          if (ctx.attempt < 2) throw new Error('not yet');
        }
        async unbook({ transaction, attempt }: Compensation) {
          await layer.write(transaction, `unbook ${attempt}`);
          if (attempt < 2) throw new Error('not yet');
        }
        @Step() refuse() {
          throw new StepRejectedError('no');
        }
      }
      const { sagas } = await startWith(Order);
      expect((await (await sagas.start(Order, {})).outcome()).status).toBe('compensated');
      expect(await apps.effects()).toEqual(['book 2', 'unbook 2']);
    });

    test('commits what is left after a nested transaction that failed', async () => {
      @Saga({ name: 'order' })
      class Order {
        @Step({ transactional: true }) async book({ transaction }: Context) {
          await layer.write(transaction, 'before');
          const nested = layer.nested(transaction, async (own) => {
            await layer.write(own, 'nested');
            await layer.fail(own, '23505');
          });
          await nested.catch(() => undefined);
          await layer.write(transaction, 'after');
        }
      }
      const { sagas } = await startWith(Order);
      expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
      expect(await apps.effects()).toEqual(['after', 'before']);
    });

    test('fails if it caught the error of a statement, because nothing of it is committed', async () => {
      @Saga({ name: 'order', retry: { attempts: 1 } })
      class Order {
        @Step({ transactional: true }) async book({ transaction }: Context) {
          await layer.write(transaction, 'lost');
          await layer.fail(transaction, '23514').catch(() => undefined);
        }
      }
      const { sagas } = await startWith(Order);
      expect(await (await sagas.start(Order, {})).outcome()).toMatchObject({
        status: 'compensated',
        failure: { step: 'book', error: { name: 'SagaTransactionError', code: 'SAGA_TRANSACTION' } },
      });
      expect(await apps.effects()).toEqual([]);
    });

    test('fails if it made its transaction read-only, which a repetition would not change', async () => {
      @Saga({ name: 'order', retry: { attempts: 1 } })
      class Order {
        @Step({ transactional: true }) async book({ transaction }: Context) {
          await layer.readOnly(transaction);
        }
      }
      const { sagas } = await startWith(Order);
      expect(await (await sagas.start(Order, {})).outcome()).toMatchObject({
        status: 'compensated',
        failure: { step: 'book', error: { code: 'SAGA_TRANSACTION' } },
      });
    });

    test('is repeated after a serialization failure, which does not count as an attempt', async () => {
      const attempts: number[] = [];
      @Saga({ name: 'order', retry: { attempts: 1 } })
      class Order {
        @Step({ transactional: true }) async book({ transaction, attempt }: Context) {
          attempts.push(attempt);
          await layer.write(transaction, `book ${attempts.length}`);
          if (attempts.length < 4) await layer.fail(transaction, '40001');
        }
      }
      const { sagas } = await startWith(Order);
      expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
      expect(attempts).toEqual([1, 1, 1, 1]);
      expect(await apps.effects()).toEqual(['book 4']);
    });

    test('is repeated after a serialization failure of its COMMIT, which does not count as an attempt', async () => {
      await apps.sql(FAILING_COMMIT);
      const attempts: number[] = [];
      @Saga({ name: 'order', retry: { attempts: 1 } })
      class Order {
        @Step({ transactional: true }) async book({ transaction, attempt }: Context) {
          attempts.push(attempt);
          await layer.write(transaction, `book ${attempts.length}`);
        }
      }
      const { sagas } = await startWith(Order);
      const { status } = await (await sagas.start(Order, {})).outcome();
      await apps.sql('DROP FUNCTION refuse CASCADE');
      expect(status).toBe('completed');
      expect(attempts).toEqual([1, 1, 1]);
      expect(await apps.effects()).toEqual(['book 3']);
    });

    test('is repeated after its connection was lost, which does not count as an attempt', async () => {
      const attempts: number[] = [];
      @Saga({ name: 'order', retry: { attempts: 1 } })
      class Order {
        @Step({ transactional: true }) async book({ transaction, attempt }: Context) {
          attempts.push(attempt);
          await layer.write(transaction, `book ${attempts.length}`);
          if (attempts.length > 1) return;
          await apps.sql(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND state = 'idle in transaction'`,
          );
          await layer.write(transaction, 'after');
        }
      }
      const { sagas } = await startWith(Order);
      expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
      expect(attempts).toEqual([1, 1]);
      expect(await apps.effects()).toEqual(['book 2']);
    });

    test('starts another saga with its own transaction', async () => {
      @Saga({ name: 'shipment' })
      class Shipment {
        @Step() ship() {
          return 'shipped';
        }
      }
      @Saga({ name: 'order', retry: RETRY })
      class Order {
        @Step({ transactional: true }) async book({ transaction, attempt }: Context) {
          const { id } = await app.sagas.start(Shipment, {}, { transaction });
          if (attempt < 2) throw new Error(id);
          return id;
        }
      }
      const app = await apps.start({ sagas: [Order, Shipment] });
      const order = await app.sagas.start(Order, {});
      const { results } = await order.outcome();
      expect((await app.sagas.wait(results.book!)).status).toBe('completed');
      const { steps } = await app.sagas.get(order.id);
      await expect(app.sagas.get(steps[0]!.errors[0]!.message)).rejects.toMatchObject({
        code: 'SAGA_NOT_FOUND',
      });
    });

    test('of many sagas leaves a connection of a small pool free', async () => {
      @Saga({ name: 'order' })
      class Order {
        @Step({ transactional: true }) async book({ transaction }: Context) {
          await layer.write(transaction, 'book');
        }
        @Step({ transactional: true }) async ship({ transaction }: Context) {
          await layer.write(transaction, 'ship');
        }
      }
      const app = await apps.start({ sagas: [Order], connections: 2 });
      layer = app.layer;
      const orders = await Promise.all(Array.from({ length: 20 }, () => app.sagas.start(Order, {})));
      await Promise.all(orders.map(({ outcome }) => outcome()));
      expect(await apps.effects()).toHaveLength(40);
    });
  });
}
