import {
  Approval,
  Saga,
  SagaApprovalPendingError,
  SagaNotFoundError,
  SagaStateError,
  SagaValidationError,
  Step,
  StepRejectedError,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** Its second step can neither succeed nor be compensated before `world` is repaired. */
function haltingSaga() {
  const world = { isMended: false };
  @Saga({ name: 'order', retry: { attempts: 1 }, compensationRetry: { attempts: 1 } })
  class Order {
    @Step({ compensate: 'release' }) reserve() {}
    release() {
      if (!world.isMended) throw new Error('inventory: 503');
    }
    @Step() charge() {
      throw new StepRejectedError('declined');
    }
  }
  return { Order, world };
}

const stuckOnes = async (count: number, options = {}) => {
  const { Order, world } = haltingSaga();
  const { sagas, operations } = await apps.start({ sagas: [Order], options });
  const handles = await Promise.all(
    Array.from({ length: count }, (_, n) => sagas.start(Order, {}, { tags: { n: String(n % 2) } })),
  );
  for (const { outcome } of handles) expect((await outcome()).status).toBe('stuck');
  return { Order, world, sagas, operations, ids: handles.map(({ id }) => id) };
};

const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(undefined, (error: unknown) => error);

describe('the history of a saga', () => {
  test('records the operator, action, time, reason, and the state of the saga', async () => {
    const { sagas, operations, world, ids } = await stuckOnes(1);
    const [id] = ids as [string];
    await operations.retry(id, { by: 'ann', reason: 'they say it works again' });
    await until(async () => (await sagas.get(id)).status === 'stuck');
    world.isMended = true;
    await operations.resolve(id, 'reserve', { by: 'bob' });
    const [retry, resolve, ...more] = await operations.history(id);
    expect(retry).toMatchObject({
      action: 'retry',
      by: 'ann',
      reason: 'they say it works again',
      from: 'stuck',
    });
    expect(resolve).toMatchObject({ action: 'resolve', by: 'bob', step: 'reserve', proposed: false });
    expect(more).toEqual([]);
    expect(retry!.at.getTime()).toBeLessThanOrEqual(resolve!.at.getTime());
  });

  test('holds signals and decisions, too', async () => {
    @Saga({ name: 'shop' })
    class Shop {
      @WaitFor({ signal: 'paid' }) pay() {}
      @Approval() release() {}
    }
    const { sagas, operations } = await apps.start({ sagas: [Shop] });
    const { id, outcome } = await sagas.start(Shop, {});
    await sagas.signal(id, 'paid');
    await sagas.approve(id, 'release', { by: 'ann', comment: 'looks right' });
    await outcome();
    expect(await operations.history(id)).toMatchObject([
      { action: 'signal', signal: 'paid' },
      { action: 'approve', by: 'ann', reason: 'looks right', step: 'release' },
    ]);
  });

  test('has nothing of what was refused, and is not had of a saga that is not there', async () => {
    const { operations, ids } = await stuckOnes(1);
    await expect(operations.resume(ids[0]!)).rejects.toThrow(SagaStateError);
    expect(await operations.history(ids[0]!)).toEqual([]);
    const unknown = operations.history('00000000-0000-7000-8000-000000000000');
    await expect(unknown).rejects.toThrow(SagaNotFoundError);
  });
});

describe('what an operator expects', () => {
  test('prevents concurrent actions: the second one, based on an old state, changes nothing', async () => {
    const { sagas, operations, ids } = await stuckOnes(1);
    const [id] = ids as [string];
    const { revision } = await sagas.get(id);
    await operations.retry(id, { expects: { status: 'stuck', revision } });
    await until(async () => (await sagas.get(id)).status === 'stuck');
    const late = operations.abort(id, { expects: { status: 'stuck', revision } });
    await expect(late).rejects.toThrow(/abort\(\) changed nothing, because it has changed since revision/);
    expect((await sagas.get(id)).status).toBe('stuck');
    await expect(operations.abort(id, { expects: 'running' })).rejects.toThrow(
      'it is stuck, and was expected to be running',
    );
    await operations.abort(id, { expects: 'stuck' });
  });

  test('is checked like the rest: all that is wrong is named at once', async () => {
    const { operations, ids } = await stuckOnes(1);
    const wrong = { by: '', reason: '\0', expects: { status: 'odd', revision: 1.5 } } as never;
    const error = (await thrownBy(operations.retry(ids[0]!, wrong))) as SagaValidationError;
    expect(error).toBeInstanceOf(SagaValidationError);
    for (const name of ['by is', 'reason is', "expects.status is 'odd'", 'expects.revision is 1.5'])
      expect(error.message).toContain(name);
  });
});

describe('a call that a second operator has to make, too', () => {
  const approvals = { abort: 2 };

  test('is kept, and carried out once another has made it', async () => {
    const { sagas, operations, ids } = await stuckOnes(1, { approvals });
    const [id] = ids as [string];
    const first = (await thrownBy(
      operations.abort(id, { by: 'ann', reason: 'lost' }),
    )) as SagaApprovalPendingError;
    expect(first).toBeInstanceOf(SagaApprovalPendingError);
    expect([first.code, first.approvals, first.needed]).toEqual(['SAGA_APPROVAL_PENDING', 1, 2]);
    expect((await sagas.get(id)).status).toBe('stuck');
    await expect(operations.abort(id, { by: 'ann' })).rejects.toThrow('1 of 2 operators');
    await operations.abort(id, { by: 'bob' });
    expect((await sagas.get(id)).status).toBe('aborted');
    expect(await operations.history(id)).toMatchObject([
      { action: 'abort', by: 'ann', reason: 'lost', proposed: true },
      { action: 'abort', by: 'bob', proposed: false },
    ]);
  });

  test('is to be made anew once the saga has changed', async () => {
    const { sagas, operations, ids } = await stuckOnes(1, { approvals });
    const [id] = ids as [string];
    await thrownBy(operations.abort(id, { by: 'ann' }));
    await operations.retry(id);
    await until(async () => (await sagas.get(id)).status === 'stuck');
    await expect(operations.abort(id, { by: 'bob' })).rejects.toThrow(SagaApprovalPendingError);
    expect((await sagas.get(id)).status).toBe('stuck');
  });

  test('names its operator', async () => {
    const { operations, ids } = await stuckOnes(1, { approvals });
    await expect(operations.abort(ids[0]!)).rejects.toThrow(
      'requires the approval of 2 operators. Give the operator who calls',
    );
  });

  test.each([
    [{ abort: 0 }, 'approvals.abort is 0'],
    [{ cancel: 2 }, "unknown option 'approvals.cancel'"],
    ['two', "approvals is 'two'"],
  ])('is declared by options that can be so: %j', async (given, message) => {
    await expect(apps.start({ options: { approvals: given as never } })).rejects.toThrow(message);
  });
});

describe('the same for many sagas', () => {
  test('is counted first, and then done to each that the filter finds', async () => {
    const { sagas, operations, Order, world, ids } = await stuckOnes(5);
    const filter = { saga: Order, status: 'stuck' as const, tags: { n: '0' } };
    const counted = await operations.bulk('retry', filter, { dryRun: true });
    expect(counted).toEqual({ matched: 3, done: 0, proposed: 0, failed: [], more: false });
    expect(await operations.history(ids[0]!)).toEqual([]);
    world.isMended = true;
    const done = await operations.bulk('retry', filter, { by: 'ann', reason: 'mended' });
    expect(done).toMatchObject({ matched: 3, done: 3, failed: [] });
    const statuses = await Promise.all(ids.map(async (id) => (await sagas.wait(id)).status));
    expect(statuses.map((status) => status === 'compensated')).toEqual([true, false, true, false, true]);
    expect(await operations.history(ids[0]!)).toMatchObject([
      { action: 'retry', by: 'ann', reason: 'mended' },
    ]);
  });

  test('leaves alone what it does not fit, and says why', async () => {
    const { operations, Order, ids } = await stuckOnes(2);
    const result = await operations.bulk('resume', { saga: Order });
    expect(result).toMatchObject({ matched: 2, done: 0 });
    expect(result.failed.map(({ id }) => id).sort()).toEqual([...ids].sort());
    expect(result.failed[0]).toMatchObject({
      code: 'SAGA_STATE',
      error: expect.stringContaining('cannot be resumed'),
    });
  });

  test('stops at its limit, and says that there are more', async () => {
    const { operations, Order } = await stuckOnes(3);
    expect(await operations.bulk('abort', { saga: Order }, { limit: 2 })).toMatchObject({
      done: 2,
      more: true,
    });
    expect(await operations.bulk('abort', { saga: Order, status: 'stuck' })).toMatchObject({
      done: 1,
      more: false,
    });
  });

  test('is refused where it is not clear what, or to which', async () => {
    const { operations } = await stuckOnes(0);
    await expect(operations.bulk('explode' as never, {})).rejects.toThrow("action is 'explode'");
    await expect(operations.bulk('abort', undefined as never)).rejects.toThrow('filter is undefined');
    await expect(operations.bulk('abort', {}, { limit: 0 })).rejects.toThrow('limit is 0');
    await expect(operations.bulk('abort', { status: 'odd' as never })).rejects.toThrow("status is 'odd'");
  });
});

test('what there is to do is counted over all applications', async () => {
  const { sagas, operations, Order } = await stuckOnes(2);
  await sagas.start(Order, {}, { delay: '1h' });
  const { at, ...stats } = await operations.stats();
  expect(stats).toEqual({
    sagas: [
      { saga: 'order', version: 1, status: 'running', count: 1 },
      { saga: 'order', version: 1, status: 'stuck', count: 2 },
    ],
    ...{ due: 0, overdue: 0, pausedSteps: [] },
    ...{ outbox: { waiting: 0, dead: 0 }, timelineGuard: 'on' },
  });
  expect(at).toBeInstanceOf(Date);
});
