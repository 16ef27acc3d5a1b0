import type { DataSource, EntityManager } from 'typeorm';
import {
  type CompensationContext,
  Saga,
  SagaTransactionError,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

beforeAll(() => apps.sql('CREATE TABLE booking (what text)'));
beforeAll(() => apps.sql('CREATE TABLE once_only AS SELECT 1 AS n; CREATE UNIQUE INDEX ON once_only (n)'));
afterEach(() => apps.sql('TRUNCATE booking'));

const write = (manager: EntityManager, what: string) =>
  manager.query('INSERT INTO booking VALUES ($1)', [what]);
const booked = async () => (await apps.sql('SELECT what FROM booking ORDER BY what')).map(({ what }) => what);
/** What aborts a transaction, in a method that takes the error for harmless. */
const swallow = (manager: EntityManager) =>
  manager.query('INSERT INTO once_only VALUES (1)').catch(() => undefined);
const swallowConflict = (manager: EntityManager) =>
  manager
    .query(`DO $$ BEGIN RAISE EXCEPTION 'could not serialize' USING ERRCODE = '40001'; END $$`)
    .catch(() => undefined);
/** Sends a failing statement before the first commit, and says nothing of it. */
function spoilFirstCommit({ subscribers }: DataSource): void {
  let commits = 0;
  subscribers.push({
    beforeTransactionCommit: async ({ manager }) => {
      commits += 1;
      if (commits === 1) await swallow(manager);
    },
  });
}

describe('a transactional step that swallowed a database error', () => {
  test('has failed, by an error that names the statement’s, and left no writes', async () => {
    @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
    class Order {
      @Step({ transactional: true })
      async book({ manager, attempt }: TransactionalStepContext) {
        await write(manager, `book ${attempt}`);
        if (attempt === 1) await swallow(manager);
        return attempt;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({ status: 'completed', results: { book: 2 } });
    expect(await booked()).toEqual(['book 2']);
    const { steps } = await sagas.get(id);
    expect(steps[0]!.errors).toMatchObject([
      {
        name: 'SagaTransactionError',
        code: 'SAGA_TRANSACTION',
        message: expect.stringContaining('duplicate key value violates unique constraint'),
        cause: { code: '23505' },
      },
    ]);
  });

  test('is tried again without counting, if that was a serialization failure', async () => {
    let calls = 0;
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ transactional: true })
      async book({ manager }: TransactionalStepContext) {
        calls += 1;
        await write(manager, `book ${calls}`);
        if (calls < 4) await swallowConflict(manager);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('completed');
    expect(await booked()).toEqual(['book 4']);
    expect(await sagas.get(id)).toMatchObject({ steps: [{ attempts: 1, errors: [] }] });
  });

  test('is not tried again for ever, where it meets a serialization failure each time', async () => {
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ transactional: true })
      async book({ manager }: TransactionalStepContext) {
        await swallowConflict(manager);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { error: { code: 'SAGA_TRANSACTION' } },
    });
  });

  test.each(['SET TRANSACTION READ ONLY', `SELECT set_config('transaction_read_only', 'on', true)`])(
    'has failed, by an error that says so, when it made its transaction read-only: %s',
    async (statement) => {
      let calls = 0;
      @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
      class Order {
        @Step({ transactional: true })
        async book({ manager }: TransactionalStepContext) {
          calls += 1;
          await manager.query(statement);
        }
      }
      const { sagas } = await apps.start({ sagas: [Order] });
      const { outcome } = await sagas.start(Order, {});
      expect(await outcome({ timeout: '20s' })).toMatchObject({
        status: 'compensated',
        failure: {
          error: {
            code: 'SAGA_TRANSACTION',
            message: expect.stringMatching(
              /made its transaction read-only.*Remove SET TRANSACTION READ ONLY/,
            ),
          },
        },
      });
      expect(calls).toBe(2);
    },
  );

  test('fails as its compensation does, which is made again', async () => {
    @Saga({ name: 'order', retry: { attempts: 1 }, compensationRetry: { attempts: 2, delay: 1 } })
    class Order {
      @Step({ transactional: true, compensate: 'unbook' })
      async book({ manager }: TransactionalStepContext) {
        await write(manager, 'book');
      }
      async unbook({ manager, attempt }: CompensationContext) {
        await write(manager!, `unbook ${attempt}`);
        if (attempt === 1) await swallow(manager!);
      }
      @Step() refuse() {
        throw new StepRejectedError('no');
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('compensated');
    expect(await booked()).toEqual(['book', 'unbook 2']);
  });

  test('completes, if the error was rolled back to a savepoint', async () => {
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step({ transactional: true })
      async book({ manager }: TransactionalStepContext) {
        await write(manager, 'book');
        await manager
          .transaction(async (nested) => {
            await write(nested, 'nested');
            await nested.query('INSERT INTO once_only VALUES (1)');
          })
          .catch(() => undefined);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    expect((await (await sagas.start(Order, {})).outcome()).status).toBe('completed');
    expect(await booked()).toEqual(['book']);
  });
});

test('a transactional step whose commit turns into a rollback is made again, and nothing goes on without it', async () => {
  @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
  class Order {
    @Step({ transactional: true })
    async book({ manager, attempt }: TransactionalStepContext) {
      await write(manager, `book ${attempt}`);
    }
    @Step() ship() {}
  }
  const { sagas, dataSource } = await apps.start({ sagas: [Order] });
  spoilFirstCommit(dataSource);
  const { id, outcome } = await sagas.start(Order, {});
  expect((await outcome()).status).toBe('completed');
  expect(await booked()).toEqual(['book 2']);
  expect((await sagas.get(id)).steps[0]).toMatchObject({
    status: 'completed',
    errors: [{ code: 'SAGA_TRANSACTION' }],
  });
});

test.each(['ROLLBACK', 'COMMIT'])('a transactional step that sends %s by itself has failed', async (end) => {
  @Saga({ name: 'order', retry: { attempts: 1 } })
  class Order {
    @Step({ transactional: true })
    async book({ manager }: TransactionalStepContext) {
      await manager.query(end);
    }
  }
  const { sagas } = await apps.start({ sagas: [Order] });
  const { outcome } = await sagas.start(Order, {});
  expect(await outcome()).toMatchObject({
    status: 'compensated',
    failure: { error: { code: 'SAGA_TRANSACTION', message: expect.stringContaining(end) } },
  });
});

describe('a saga that is started in a transaction that is aborted', () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() ship() {}
  }

  test('is refused, by an error that names what aborted it', async () => {
    const { sagas, dataSource } = await apps.start({ sagas: [Order] });
    const transaction = dataSource.transaction(async (manager) => {
      await sagas.start(Order, {}, { manager });
      await swallow(manager);
      await sagas.start(Order, {}, { manager });
    });
    await expect(transaction).rejects.toThrow(SagaTransactionError);
    await expect(transaction).rejects.toMatchObject({ code: 'SAGA_TRANSACTION', cause: { code: '23505' } });
    expect((await sagas.find({})).items).toEqual([]);
  });

  test('is rejected even if the failed statement was not observed', async () => {
    const { sagas, dataSource } = await apps.start({ sagas: [Order] });
    const transaction = dataSource.transaction(async (manager) => {
      await swallow(manager);
      await sagas.start(Order, {}, { manager });
    });
    await expect(transaction).rejects.toMatchObject({ code: 'SAGA_TRANSACTION' });
  });
});
