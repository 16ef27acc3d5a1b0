import { Saga, type SagaSnapshot, Step, SubSaga } from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

interface StepRow {
  name: string;
  status: string;
  attempts: number;
  compensation_attempts: number;
  retry_at: Date | null;
  result: unknown;
  errors: unknown[] | null;
  started_at: Date;
  updated_at: Date;
}

const rowsOf = (id: string) => apps.sql<StepRow>('SELECT * FROM saga.steps_of($1)', [id]);

/** What SQL and get() both say of the steps that have begun. */
async function expectSame(saga: SagaSnapshot): Promise<void> {
  const steps = saga.steps
    .flatMap(({ items = [], ...step }) => [step, ...items])
    .filter(({ status }) => status !== 'pending')
    .map((step) => ({
      name: step.name,
      status: step.status,
      attempts: step.attempts,
      compensations: step.compensationAttempts,
      errors: step.errors.length,
      changed: step.updatedAt?.getTime(),
    }));
  const rows = (await rowsOf(saga.id)).map((row) => ({
    name: row.name,
    status: row.status,
    attempts: row.attempts,
    compensations: row.compensation_attempts,
    errors: row.errors?.length ?? 0,
    changed: row.updated_at.getTime(),
  }));
  const inOrder = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
  expect(rows.sort(inOrder)).toEqual(steps.sort(inOrder));
}

const DOWN = {
  retry: { attempts: 3, delay: '1ms' },
  compensationRetry: { attempts: 2, delay: '1ms' },
} as const;

describe('saga.steps_of(id) says of each step what get() says', () => {
  test('of a saga that was compensated, with an error that repeated and a compensation that was retried', async () => {
    let refunds = 0;
    @Saga({ name: 'order', ...DOWN })
    class Order {
      @Step({ compensate: 'release' }) reserve() {
        return { reserved: 1 };
      }
      release() {}
      @Step({ compensate: 'refund' }) pay() {}
      refund() {
        if (refunds++ === 0) throw new Error('bank is down');
      }
      @Step({ forEach: () => ['a', 'b'], compensate: 'unpack' }) pack() {}
      unpack() {}
      @Step() ship() {
        throw new Error('carrier is down');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('compensated');
    const saga = await sagas.get(id);
    await expectSame(saga);
    const [reserve] = await rowsOf(id);
    expect(reserve).toMatchObject({ name: 'reserve', status: 'compensated', result: { reserved: 1 } });
    // The rows of steps alone are older: this is what the function is for.
    const [raw] = await apps.sql(`SELECT status FROM saga.step WHERE name = 'reserve' AND saga_id = $1`, [
      id,
    ]);
    expect(raw).toEqual({ status: 'completed' });
  });

  test('of a saga that waits for its third attempt', async () => {
    @Saga({ name: 'order', retry: { attempts: 3, delay: '1ms', maxDelay: '1h', factor: 1_000_000 } })
    class Order {
      @Step() ship() {
        throw new Error('carrier is down');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id } = await sagas.start(Order, {});
    await until(async () => (await sagas.get(id)).steps[0]!.attempts === 2);
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'retry');
    const saga = await sagas.get(id);
    await expectSame(saga);
    const [row] = await rowsOf(id);
    expect(saga.waitingFor).toMatchObject({ kind: 'retry', at: row!.retry_at });
  });

  test('of a saga with more changes than its row notes', async () => {
    @Saga({ name: 'child' })
    class Child {
      @Step() pick() {}
    }
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ forEach: () => Array.from({ length: 12 }, (_, n) => n), compensate: 'unpack' }) pack() {}
      unpack() {}
      @SubSaga(() => Child) pick() {
        return {};
      }
      @Step() ship() {
        throw new Error('no carrier');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order, Child] });
    const { id, outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('compensated');
    await expectSame(await sagas.get(id));
  });

  test('of a saga in partitioned tables', async () => {
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ compensate: 'release' }) reserve() {}
      release() {}
      @Step() ship() {
        throw new Error('no carrier');
      }
    }
    const plain = await apps.start({ sagas: [Order] });
    const before = await plain.sagas.start(Order, {});
    await before.outcome();
    await plain.close();
    const { sagas } = await apps.start({ sagas: [Order], options: { partitions: 'daily' } });
    const after = await sagas.start(Order, {});
    await after.outcome();
    for (const { id } of [before, after]) await expectSame(await sagas.get(id));
  });
});
