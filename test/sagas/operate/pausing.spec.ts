import {
  Saga,
  SagaStateError,
  Step,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { OrderScene } from '../../support/order-scene.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('a saga that is paused', () => {
  test('lets the running step end, stops, and goes on when it is resumed', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    const { id, outcome } = await sagas.start(scene.saga, {});
    const signal = await scene.charging.opened;
    await operations.pause(id, { by: 'ann', reason: 'the warehouse is on fire' });
    expect((await sagas.get(id)).status).toBe('running');
    await expect(operations.resume(id)).rejects.toThrow('cannot be resumed yet');
    scene.charge.open('charged');
    await until(async () => (await sagas.get(id)).status === 'paused');
    const paused = await sagas.get(id);
    expect(signal.aborted).toBe(false);
    expect(paused).toMatchObject({ step: 'ship', lockedBy: undefined });
    expect(paused.waitingFor).toEqual({ kind: 'paused', by: 'ann', reason: 'the warehouse is on fire' });
    expect(scene.ran).toEqual(['reserve', 'charge']);
    // Again, it changes nothing.
    await operations.pause(id, { by: 'bob' });
    expect((await sagas.get(id)).waitingFor).toEqual(paused.waitingFor);
    await operations.resume(id);
    expect((await outcome()).status).toBe('completed');
    expect(scene.ran).toEqual(['reserve', 'charge', 'ship']);
  });

  test('is paused while its worker is another process', async () => {
    const scene = new OrderScene();
    const worker = await apps.start({ sagas: [scene.saga] });
    const { sagas, operations } = await apps.start({ sagas: [scene.saga], options: { worker: false } });
    const { id } = await worker.sagas.start(scene.saga, {});
    await scene.charging.opened;
    await operations.pause(id);
    scene.charge.open('charged');
    await until(async () => (await sagas.get(id)).status === 'paused');
    expect(scene.ran).toEqual(['reserve', 'charge']);
  });

  test('is not resumed by a signal that it waits for; the signal is taken after the resume', async () => {
    const given: unknown[] = [];
    @Saga({ name: 'paying' })
    class Paying {
      @WaitFor({ signal: 'paid' }) pay(_ctx: object, payload: unknown) {
        given.push(payload);
      }
    }
    const { sagas, operations } = await apps.start({ sagas: [Paying] });
    const { id, outcome } = await sagas.start(Paying, {});
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'signal');
    await operations.pause(id);
    expect((await sagas.get(id)).status).toBe('paused');
    await sagas.signal(id, 'paid', 5);
    expect(await sagas.get(id)).toMatchObject({ status: 'paused', waitingFor: { kind: 'paused' } });
    await operations.resume(id);
    expect((await outcome()).status).toBe('completed');
    expect(given).toEqual([5]);
  });

  test('receives the end of its sub-saga when it is resumed', async () => {
    const goOn = new Gate();
    @Saga({ name: 'part' })
    class Part {
      @Step() make() {
        return goOn.opened;
      }
    }
    @Saga({ name: 'whole' })
    class Whole {
      @SubSaga(() => Part) parts() {
        return {};
      }
    }
    const { sagas, operations } = await apps.start({ sagas: [Whole, Part] });
    const { id, outcome } = await sagas.start(Whole, {});
    const child = await until(async () => (await sagas.get(id)).steps[0]!.child);
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'sub-saga');
    await operations.pause(id);
    goOn.open();
    await sagas.wait(child);
    expect((await sagas.get(id)).status).toBe('paused');
    await operations.resume(id);
    expect((await outcome()).status).toBe('completed');
  });

  test('while it rolls back continues the rollback when it is resumed', async () => {
    const undoing = new Gate();
    const undo = new Gate();
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'release' }) reserve() {}
      release() {
        ran.push('release');
      }
      @Step({ compensate: 'refund' }) charge() {}
      refund() {
        ran.push('refund');
        undoing.open();
        return undo.opened;
      }
      @Step() ship() {
        throw new StepRejectedError('no lorry');
      }
    }
    const { sagas, operations } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    await undoing.opened;
    await operations.pause(id);
    undo.open();
    await until(async () => (await sagas.get(id)).status === 'paused');
    expect(ran).toEqual(['refund']);
    await expect(sagas.cancel(id)).rejects.toThrow('it is paused, while compensating');
    await operations.resume(id);
    expect((await outcome()).status).toBe('compensated');
    expect(ran).toEqual(['refund', 'release']);
  });

  test('can be cancelled, and rolls back immediately', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    const { id, outcome } = await sagas.start(scene.saga, {}, { delay: '1h' });
    await operations.pause(id);
    await sagas.cancel(id);
    expect((await outcome()).status).toBe('compensated');
  });

  test('after a cancellation stops during its rollback', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    const { id, outcome } = await sagas.start(scene.saga, {});
    await scene.charging.opened;
    await sagas.cancel(id);
    await operations.pause(id);
    scene.charge.open('charged');
    await until(async () => (await sagas.get(id)).status === 'paused');
    expect(scene.ran).toEqual(['reserve', 'charge']);
    await operations.resume(id);
    expect((await outcome()).status).toBe('compensated');
  });

  test('stays so when its processes are stopped and started', async () => {
    const scene = new OrderScene();
    const before = await apps.start({ sagas: [scene.saga] });
    const { id } = await before.sagas.start(scene.saga, {}, { delay: '1h' });
    await before.operations.pause(id);
    await before.close();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    expect((await sagas.get(id)).status).toBe('paused');
    scene.charge.open('charged');
    // Its delay is over by the time that it goes on.
    await apps.sql(`UPDATE saga.instance SET starts_at = starts_at - interval '2h'`);
    await operations.resume(id);
    expect((await sagas.wait(id)).status).toBe('completed');
  });

  test('that ends with the running step is finished, not paused', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    const { id, outcome } = await sagas.start(scene.saga, {});
    await scene.charging.opened;
    await operations.pause(id);
    scene.charge.open(new StepRejectedError('declined'));
    // What it has to undo is done once it is resumed.
    await until(async () => (await sagas.get(id)).status === 'paused');
    await operations.resume(id);
    expect((await outcome()).status).toBe('compensated');
    const error: unknown = await operations.pause(id).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SagaStateError);
    expect((error as Error).message).toMatch(/cannot be paused: it is compensated/);
  });

  test('is paused once, and is resumed only if it is paused', async () => {
    const scene = new OrderScene();
    const { sagas, operations } = await apps.start({ sagas: [scene.saga] });
    const { id } = await sagas.start(scene.saga, {}, { delay: '1h' });
    await expect(operations.resume(id)).rejects.toThrow('cannot be resumed: it is running');
    await operations.pause(id);
    await operations.pause(id);
    await operations.resume(id);
    expect((await operations.history(id)).map(({ action }) => action)).toEqual(['pause', 'resume']);
  });
});
