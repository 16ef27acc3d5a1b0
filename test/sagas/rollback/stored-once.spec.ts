import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../../libs/saga/src/index.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

const MESSAGE = 'the card was refused';

@Saga({ name: 'order' })
class Order extends Journalled {
  @Step({ compensate: 'release' }) reserve(ctx: StepContext) {
    return this.note(ctx, { shelf: 7 });
  }
  @Step({ retry: { attempts: 3, delay: 1 }, compensate: 'release' }) pay(ctx: StepContext) {
    if (ctx.attempt < 3) throw new Error('the bank is closed');
    return this.note(ctx);
  }
  @Step() ship() {
    throw new StepRejectedError(MESSAGE, { cause: new TypeError('expired') });
  }
  release(ctx: CompensationContext) {
    expect(ctx.failure?.error?.cause?.message).toBe('expired');
    return this.undo(ctx);
  }
}

// An update that changes a column of an index, or of its condition, is not HOT: it writes an entry of each index.
test('no index has a column that checkpoints change while a worker holds the saga', async () => {
  await apps.start({ sagas: [Order] });
  const indexes = await apps.sql<{ definition: string }>(
    `SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = 'saga.instance'::regclass`,
  );
  expect(indexes.length).toBeGreaterThan(8);
  for (const column of ['status', 'step', 'error', 'failure', 'progress', 'checkpoints', 'updated_at'])
    for (const { definition } of indexes) expect(definition).not.toMatch(new RegExp(`\\b${column}\\b`));
});

test('a saga that rolls back stores each error once, and shows everything', async () => {
  const { sagas } = await apps.start({ sagas: [Order] });
  const { id, outcome } = await sagas.start(Order, {});
  expect((await outcome()).status).toBe('compensated');
  expect(journal).toEqual(['reserve', 'pay', 'undo pay', 'undo reserve']);

  const saga = await sagas.get(id);
  const error = saga.failure?.error;
  expect(saga.failure).toMatchObject({ kind: 'rejected', step: 'ship', error: { message: MESSAGE } });
  expect(error?.cause).toMatchObject({ name: 'TypeError', message: 'expired' });
  expect(error?.stack).toMatch(/^StepRejectedError: the card was refused\n +at Order\.ship /);
  expect(error?.stack).not.toContain('attempt-runner');
  const [reserve, pay, ship] = saga.steps;
  expect(reserve).toMatchObject({ status: 'compensated', attempts: 1, compensationAttempts: 1 });
  expect(pay).toMatchObject({ status: 'compensated', attempts: 3, compensationAttempts: 1 });
  expect(pay!.errors.map(({ attempt, message }) => [attempt, message])).toEqual([
    [1, 'the bank is closed'],
    [2, 'the bank is closed'],
  ]);
  expect(pay!.errors[1]!.stack).toBe(pay!.errors[0]!.stack);
  expect(ship).toMatchObject({ status: 'failed', errors: [{ attempt: 1, message: MESSAGE }] });
  const times = [
    reserve!.startedAt!,
    pay!.startedAt!,
    pay!.updatedAt!,
    reserve!.updatedAt!,
    saga.finishedAt!,
  ];
  expect(times.map(Number)).toEqual(times.map(Number).sort((a, b) => a - b));

  const [row] = await apps.sql<{ failure: object; stacks: number }>(
    `SELECT i.failure, (SELECT count(*)::int FROM regexp_matches(i::text, 'Order.ship', 'g')) AS stacks
     FROM saga.instance i WHERE id = $1`,
    [id],
  );
  expect(row).toEqual({ failure: { kind: 'rejected', step: 'ship', attempt: 1 }, stacks: 0 });
});
