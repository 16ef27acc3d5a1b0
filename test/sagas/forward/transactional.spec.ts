import type { EntityManager } from 'typeorm';
import {
  type CompensationContext,
  Saga,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const FAST = { attempts: 2, delay: 1 };

beforeAll(() => apps.sql('CREATE TABLE booking (saga uuid, what text, n int)'));
afterEach(() => apps.sql('TRUNCATE booking'));

const write = (manager: EntityManager, saga: string, what: string, n = 0) =>
  manager.query('INSERT INTO booking VALUES ($1, $2, $3)', [saga, what, n]);
const booked = async () => (await apps.sql('SELECT what FROM booking ORDER BY what')).map(({ what }) => what);
const serializationFailure = (manager: EntityManager) =>
  manager.query(`DO $$ BEGIN RAISE EXCEPTION 'try again' USING ERRCODE = '40001'; END $$`);

describe('a transactional step', () => {
  test('commits its writes and its checkpoint together', async () => {
    const [wrote, go] = [new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step({ transactional: true })
      async book({ manager, sagaId }: TransactionalStepContext) {
        await write(manager, sagaId, 'book');
        wrote.open();
        await go.opened;
        return 'booked';
      }
      @Step() ship() {}
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const order = await sagas.start(Order, {});
    await wrote.opened;
    expect(await booked()).toEqual([]);
    go.open();
    expect(await order.outcome()).toMatchObject({ status: 'completed', results: { book: 'booked' } });
    expect(await booked()).toEqual(['book']);
    // The very transaction, and nothing wrote the step again.
    const [both] = await apps.sql(
      `SELECT b.xmin = s.xmin AS together FROM booking b JOIN saga.step s ON s.saga_id = b.saga AND s.name = 'book'`,
    );
    expect(both).toEqual({ together: true });
  });

  test('that throws leaves no writes behind, attempt after attempt', async () => {
    @Saga({ name: 'order', retry: { attempts: 3, delay: 1 } })
    class Order {
      @Step({ transactional: true })
      async book({ manager, sagaId, attempt }: TransactionalStepContext) {
        await write(manager, sagaId, `book ${attempt}`);
        if (attempt < 3) throw new Error('not yet');
        return attempt;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const order = await sagas.start(Order, {});
    expect(await order.outcome()).toMatchObject({ results: { book: 3 } });
    expect(await booked()).toEqual(['book 3']);
    const { steps } = await sagas.get(order.id);
    expect(steps[0]?.errors.map(({ message, attempt }) => [message, attempt])).toEqual([
      ['not yet', 1],
      ['not yet', 2],
    ]);
  });

  test('that failed permanently or timed out is not compensated, because its transaction rolled back', async () => {
    const undone: string[] = [];
    const never = new Gate();
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ transactional: true, compensate: 'unbook', timeout: 50 })
      async book({ manager, sagaId, signal }: TransactionalStepContext<{ slow: boolean }>) {
        await write(manager, sagaId, 'book');
        await never.opened;
        signal.throwIfAborted();
      }
      unbook() {
        undone.push('unbook');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, { slow: true });
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'timeout', step: 'book' },
    });
    never.open();
    expect(undone).toEqual([]);
    expect(await booked()).toEqual([]);
  });

  test('is tried again after serialization failures, and they do not count', async () => {
    const attempts: number[] = [];
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ transactional: true })
      async book({ manager, sagaId, attempt }: TransactionalStepContext) {
        attempts.push(attempt);
        await write(manager, sagaId, `book ${attempts.length}`);
        if (attempts.length < 4) await serializationFailure(manager);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('completed');
    expect(attempts).toEqual([1, 1, 1, 1]);
    expect(await booked()).toEqual(['book 4']);
    expect(await sagas.get(id)).toMatchObject({ steps: [{ attempts: 1, errors: [] }] });
  });

  test('of many sagas that write the same row takes turns, and none fails', async () => {
    await apps.sql(`INSERT INTO booking VALUES (NULL, 'counter', 0)`);
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ transactional: true })
      async book({ manager }: TransactionalStepContext) {
        await manager.query(`UPDATE booking SET n = n + 1 WHERE what = 'counter'`);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], dataSource: { poolSize: 4 } });
    const handles = await Promise.all(Array.from({ length: 40 }, (_, n) => sagas.start(Order, { n })));
    const outcomes = await Promise.all(handles.map(({ outcome }) => outcome()));
    expect(outcomes.every(({ status }) => status === 'completed')).toBe(true);
    expect(await apps.sql('SELECT n FROM booking')).toEqual([{ n: 40 }]);
  });

  test('that is cancelled leaves no writes behind', async () => {
    const wrote = new Gate();
    @Saga({ name: 'order' })
    class Order {
      @Step({ transactional: true })
      async book({ manager, sagaId, signal }: TransactionalStepContext) {
        await write(manager, sagaId, 'book');
        wrote.open();
        await aborted(signal);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    await wrote.opened;
    await sagas.cancel(id);
    const { status } = await outcome();
    // It completed all the same: kept and undone (nothing undoes it here), or refused as a whole.
    expect(status).toBe('compensated');
    const [step] = (await sagas.get(id)).steps;
    expect(await booked()).toEqual(step?.status === 'completed' ? ['book'] : []);
  });

  test('starts other sagas if, and only if, it commits', async () => {
    @Saga({ name: 'shipment' })
    class Shipment {
      @Step() send() {
        return 'sent';
      }
    }
    const sagasOf: { start?: (manager: EntityManager) => Promise<unknown> } = {};
    @Saga({ name: 'order', retry: FAST })
    class Order {
      @Step({ transactional: true }) async book({ manager, attempt }: TransactionalStepContext) {
        await sagasOf.start!(manager);
        if (attempt === 1) throw new Error('once more');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order, Shipment] });
    sagasOf.start = (manager) => sagas.start(Shipment, {}, { manager, correlationId: 'shipment-1' });
    await (await sagas.start(Order, {})).outcome();
    const { id } = await sagas.get({ saga: Shipment, correlationId: 'shipment-1' });
    expect(await sagas.wait(id)).toMatchObject({ status: 'completed' });
  });
});

describe('the compensation of a transactional step', () => {
  test('is transactional as well', async () => {
    const seen: unknown[] = [];
    @Saga({ name: 'order', retry: { attempts: 1 }, compensationRetry: FAST })
    class Order {
      @Step({ transactional: true, compensate: 'unbook' })
      async book({ manager, sagaId }: TransactionalStepContext) {
        await write(manager, sagaId, 'book');
        return 'booked';
      }
      async unbook({ manager, sagaId, result, attempt }: CompensationContext<unknown, string>) {
        seen.push([attempt, result]);
        await write(manager!, sagaId, `unbook ${attempt}`);
        if (attempt === 1) throw new Error('not yet');
      }
      @Step() refuse() {
        throw new StepRejectedError('no');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('compensated');
    expect(seen).toEqual([
      [1, 'booked'],
      [2, 'booked'],
    ]);
    expect(await booked()).toEqual(['book', 'unbook 2']);
  });
});
