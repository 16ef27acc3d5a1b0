import type { EntityManager } from 'typeorm';
import {
  type CompensationContext,
  Saga,
  SagaConflictError,
  SagaNotFoundError,
  SagaStateError,
  SagaValidationError,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate, until } from '../../support/gate.js';
import { OrderScene } from '../../support/order-scene.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const QUICK = { attempts: 1 };
const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';

describe('cancel', () => {
  test('aborts the running step; if it still completes, it is compensated like the others', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {});
    const signal = await scene.charging.opened;
    await sagas.cancel(order.id, { reason: 'changed my mind' });
    expect(await aborted(signal)).toMatchObject({ code: 'SAGA_STEP_ABORTED', trigger: 'cancelled' });
    scene.charge.open('charged');
    const failure = { kind: 'cancelled', reason: 'changed my mind' };
    expect(await order.outcome()).toEqual({ id: order.id, status: 'compensated', results: {}, failure });
    expect(scene.ran).toEqual([
      ...['reserve', 'charge', 'refund', 'refunded charged'],
      ...['release', 'reserved cancelled changed my mind'],
    ]);
  });

  test('of a step that obeys its abort signal compensates it without a result', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {});
    const signal = await scene.charging.opened;
    await sagas.cancel(order.id);
    scene.charge.open(await aborted(signal));
    expect((await order.outcome()).status).toBe('compensated');
    expect(scene.ran).toContain('refunded undefined');
  });

  test('from another process reaches the one that runs it', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const web = await apps.start({ sagas: [scene.saga], options: { worker: false } });
    const order = await sagas.start(scene.saga, {}, { correlationId: 'order-1' });
    const signal = await scene.charging.opened;
    await web.sagas.cancel({ saga: scene.saga, correlationId: 'order-1' });
    scene.charge.open(await aborted(signal));
    expect((await order.outcome()).status).toBe('compensated');
  });

  test('before a saga began leaves nothing to undo', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {}, { delay: '1h' });
    await sagas.cancel(order.id);
    expect((await order.outcome()).status).toBe('compensated');
    expect(scene.ran).toEqual([]);
  });

  test('during a wait for a retry rolls back immediately', async () => {
    const scene = new OrderScene();
    scene.failing = ['ship'];
    class Slow extends scene.saga {}
    Saga({ name: 'order', retry: { attempts: 2, delay: '1h' } })(Slow);
    const { sagas } = await apps.start({ sagas: [Slow] });
    scene.charge.open('charged');
    const order = await sagas.start(Slow, {});
    await until(async () => (await sagas.get(order.id)).waitingFor?.kind === 'retry');
    await sagas.cancel(order.id);
    expect((await order.outcome()).status).toBe('compensated');
    expect(scene.ran).toEqual(expect.arrayContaining(['ship', 'refunded charged', 'release']));
  });

  test('twice is once, and the first reason stands', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {});
    await scene.charging.opened;
    await sagas.cancel(order.id, { reason: 'first' });
    await sagas.cancel(order.id, { reason: 'second' });
    scene.charge.open('charged');
    expect((await order.outcome()).failure?.reason).toBe('first');
    expect(scene.ran.filter((what) => what === 'refund')).toEqual(['refund']);
    await expect(sagas.cancel(order.id)).rejects.toThrow(SagaStateError);
  });

  test('changes nothing while the saga already rolls back, and the history has who asked for it first', async () => {
    const scene = new OrderScene();
    const compensating = new Gate();
    const go = new Gate();
    class Slow extends scene.saga {
      override async release(): Promise<void> {
        compensating.open();
        await go.opened;
      }
    }
    Saga({ name: 'order', retry: QUICK })(Slow);
    const { sagas, operations } = await apps.start({ sagas: [Slow] });
    scene.charge.open(new StepRejectedError('declined'));
    const order = await sagas.start(Slow, {});
    await compensating.opened;
    await sagas.cancel(order.id, { by: 'ann', reason: 'too late' });
    await sagas.cancel(order.id, { by: 'bob' });
    go.open();
    expect(await order.outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'rejected' } });
    const first = { action: 'cancel', by: 'ann', reason: 'too late', from: 'compensating', proposed: false };
    expect(await operations.history(order.id)).toMatchObject([first]);
  });

  test('of a saga, or its failure, leaves nothing for undo(), which is refused', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {});
    await scene.charging.opened;
    await sagas.cancel(order.id);
    scene.charge.open('charged');
    expect((await order.outcome()).status).toBe('compensated');
    await expect(operations.undo(order.id)).rejects.toThrow(/cannot be undone: it is compensated/);
  });

  test('of a saga whose worker is lost compensates what that worker may have done', async () => {
    const scene = new OrderScene();
    const first = await apps.start({ sagas: [scene.saga], options: { worker: { shutdownTimeout: 0 } } });
    const order = await first.sagas.start(scene.saga, {});
    await scene.charging.opened;
    const web = await apps.start({ sagas: [scene.saga], options: { worker: false } });
    await apps.sql(`UPDATE saga.instance SET locked_by = 'lost', epoch = 2, due_at = now(), rank_at = now()`);
    await web.sagas.cancel(order.id, { reason: 'changed my mind' });
    const second = await apps.start({ sagas: [scene.saga] });
    expect(await second.sagas.wait(order.id)).toMatchObject({
      status: 'compensated',
      failure: { kind: 'cancelled', reason: 'changed my mind' },
    });
    scene.charge.open('charged');
    expect(scene.ran).toEqual(expect.arrayContaining(['refunded undefined', 'release']));
  });

  test('racing with completion is refused or done, never lost', async () => {
    const ran = new Map<string, string>();
    @Saga({ name: 'quick' })
    class Quick {
      @Step({ compensate: 'undo' }) act({ sagaId }: StepContext) {
        ran.set(sagaId, 'done');
      }
      undo({ sagaId }: CompensationContext) {
        ran.set(sagaId, 'undone');
      }
    }
    const { sagas } = await apps.start({ sagas: [Quick] });
    const ended = { completed: 0, compensated: 0 };
    for (let round = 0; round < 50; round += 1) {
      const { id, outcome } = await sagas.start(Quick, {});
      // A few turns of the event loop sooner or later.
      for (let turn = 0; turn < round % 10; turn += 1) await new Promise(setImmediate);
      const cancelled = await sagas.cancel(id).then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(SagaStateError);
          return false;
        },
      );
      const { status } = await outcome();
      expect(status).toBe(cancelled ? 'compensated' : 'completed');
      if (!cancelled) expect(ran.get(id)).toBe('done');
      else expect(ran.get(id) ?? 'undone').toBe('undone');
      ended[status as keyof typeof ended] += 1;
    }
    expect(ended.completed + ended.compensated).toBe(50);
  });

  test('takes a reason that can be stored', async () => {
    const scene = new OrderScene();
    const { sagas } = await apps.start({ sagas: [scene.saga], options: { worker: false } });
    const { id } = await sagas.start(scene.saga, {});
    await expect(sagas.cancel(id, { reason: 'a\0' })).rejects.toThrow(SagaValidationError);
    await expect(sagas.cancel(id, { reason: '\ud800' })).rejects.toThrow(SagaValidationError);
  });
});

describe('abort', () => {
  test('stops a saga immediately, compensates nothing, and nothing that ends late changes that', async () => {
    const scene = new OrderScene();
    const { sagas, operations, close } = await apps.start({ sagas: [scene.saga] });
    const order = await sagas.start(scene.saga, {});
    const signal = await scene.charging.opened;
    await operations.abort(order.id, { reason: 'manual' });
    expect(await order.outcome()).toMatchObject({ status: 'aborted', failure: { reason: 'manual' } });
    // Again, it changes nothing.
    await operations.abort(order.id, { reason: 'another' });
    expect(await sagas.get(order.id)).toMatchObject({ status: 'aborted', failure: { reason: 'manual' } });
    await aborted(signal);
    scene.charge.open('charged');
    await close();
    expect(scene.ran).toEqual(['reserve', 'charge']);
    expect(await apps.sql('SELECT status FROM saga.instance')).toEqual([{ status: 'aborted' }]);
  });
});

describe('a stuck saga', () => {
  const stuck = async (failing: string[]) => {
    const scene = new OrderScene();
    scene.failing = failing;
    const app = await apps.start({ sagas: [scene.saga] });
    scene.charge.open(new StepRejectedError('declined'));
    const order = await app.sagas.start(scene.saga, {});
    expect(await order.outcome()).toMatchObject({ status: 'stuck', failure: { kind: 'rejected' } });
    scene.failing = [];
    return { scene, order, sagas: app.sagas, operations: app.operations };
  };

  test('shows what it waits for, and every error', async () => {
    const { sagas, order } = await stuck(['release']);
    expect(await sagas.get(order.id)).toMatchObject({
      status: 'stuck',
      waitingFor: { kind: 'person', steps: ['reserve'] },
      failure: { kind: 'rejected', step: 'charge', error: { message: 'declined' } },
      steps: [
        {
          name: 'reserve',
          status: 'compensation_failed',
          result: 'reserved',
          errors: [{ message: 'release failed', during: 'compensation', attempt: 1 }],
        },
        { name: 'charge', status: 'failed', errors: [{ message: 'declined', during: 'step', attempt: 1 }] },
        { name: 'ship', status: 'pending' },
      ],
    });
  });

  test('continues its rollback when it is retried', async () => {
    const { sagas, operations, order, scene } = await stuck(['release']);
    await operations.retry(order.id);
    expect((await sagas.wait(order.id)).status).toBe('compensated');
    expect(scene.ran.filter((what) => what === 'release')).toHaveLength(2);
  });

  test('is retried only once by two operators at once', async () => {
    const { sagas, operations, order } = await stuck(['release']);
    const calls = await Promise.allSettled([operations.retry(order.id), operations.retry(order.id)]);
    expect(calls.map((call) => call.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await sagas.wait(order.id)).status).toBe('compensated');
  });

  test('takes a compensation as done when it is resolved', async () => {
    const { sagas, operations, order, scene } = await stuck(['release']);
    await operations.resolve(order.id, 'reserve', { reason: 'released manually' });
    expect((await sagas.wait(order.id)).status).toBe('compensated');
    expect(scene.ran.filter((what) => what === 'release')).toHaveLength(1);
  });

  test('refuses a result for a compensation, before anything is stored, also as a proposal', async () => {
    const { sagas, operations, order } = await stuck(['release']);
    const { revision } = await sagas.get(order.id);
    const refused = operations.resolve(order.id, 'reserve', { result: { at: 'noon' }, by: 'ann' });
    await expect(refused).rejects.toThrow(SagaValidationError);
    await expect(refused).rejects.toThrow(
      "resolve() marks the compensation of step 'reserve' as done, and a compensation has no result. Remove { result }.",
    );
    expect(await sagas.get(order.id)).toMatchObject({ status: 'stuck', revision });
    expect(await operations.history(order.id)).toEqual([]);
  });

  test('may be aborted', async () => {
    const { sagas, operations, order } = await stuck(['release']);
    await operations.abort(order.id);
    expect((await sagas.get(order.id)).status).toBe('aborted');
  });

  test('refuses calls that name another step, or do not fit', async () => {
    const { sagas, operations, order } = await stuck(['release']);
    await expect(operations.retry(order.id, { step: 'charge' })).rejects.toThrow(/charge.*retried.*reserve/s);
    await expect(operations.resolve(order.id, 'charge')).rejects.toThrow(SagaStateError);
    await expect(sagas.cancel(order.id)).rejects.toThrow(/cancelled.*stuck/);
  });

  test('goes on with another input when it is retried with one, and keeps the one that it was started with', async () => {
    const inputs: unknown[] = [];
    @Saga({ name: 'order', retry: QUICK, compensationRetry: QUICK })
    class Order {
      @Step({ compensate: 'release' }) reserve() {}
      release({ input }: CompensationContext<{ to: string }>) {
        inputs.push(input);
        if (input.to === 'nowhere') throw new Error('no such place');
      }
      @Step() refuse(_: StepContext<{ to: string }>) {
        throw new StepRejectedError('no');
      }
    }
    const app = await apps.start({ sagas: [Order] });
    const { sagas, operations } = app;
    const { dataSource } = app;
    const start = (to: string, manager?: EntityManager) =>
      sagas.start(Order, { to }, { correlationId: 'order-1', manager });
    const order = await start('nowhere');
    expect((await order.outcome()).status).toBe('stuck');
    await operations.retry(order.id, { input: undefined });
    expect((await sagas.wait(order.id)).status).toBe('stuck');
    expect(await sagas.get(order.id)).not.toHaveProperty('startedInput');
    await operations.retry(order.id, { input: { to: 'home' } });
    expect((await sagas.wait(order.id)).status).toBe('compensated');
    expect(inputs).toEqual([{ to: 'nowhere' }, { to: 'nowhere' }, { to: 'home' }]);
    expect(await sagas.get(order.id)).toMatchObject({
      ...{ input: { to: 'home' }, startedInput: { to: 'nowhere' } },
    });
    // The client that started the saga knows nothing of the other input, and may repeat its start.
    const again = [start('nowhere'), dataSource.transaction((manager) => start('nowhere', manager))];
    for (const handle of await Promise.all(again))
      expect(handle).toMatchObject({ id: order.id, created: false });
    await expect(start('home')).rejects.toThrow(SagaConflictError);
  });
});

describe('a call that does not fit the state', () => {
  test('names the call and the state', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    scene.charge.open('charged');
    const order = await sagas.start(scene.saga, {});
    await order.outcome();
    for (const [call, word] of [
      [() => sagas.cancel(order.id), 'cancelled'],
      [() => operations.abort(order.id), 'aborted'],
      [() => operations.retry(order.id), 'retried'],
      [() => operations.resolve(order.id, 'ship'), 'resolved'],
    ] as const) {
      const error = await call().then(undefined, (thrown: Error) => thrown);
      expect(error).toMatchObject({ code: 'SAGA_STATE' });
      expect((error as Error).message).toMatch(new RegExp(`${order.id}.*${word}.*completed`));
    }
  });

  test('of a saga that is not there is refused, however it is named', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga], options: { worker: false } });
    for (const target of [
      UNKNOWN_ID,
      'no uuid',
      { saga: scene.saga, correlationId: 'none' },
      { saga: 'nobody', correlationId: 'a\0' },
    ]) {
      await expect(sagas.get(target)).rejects.toThrow(SagaNotFoundError);
      await expect(sagas.wait(target)).rejects.toThrow(SagaNotFoundError);
      await expect(sagas.cancel(target)).rejects.toThrow(SagaNotFoundError);
      await expect(operations.retry(target)).rejects.toThrow(SagaNotFoundError);
    }
  });
});
