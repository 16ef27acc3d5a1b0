import {
  Saga,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { journal } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';
import {
  childOf,
  NO_POLL,
  ONCE,
  OrderSaga,
  type Parcel,
  script,
  Scripted,
  ShipmentSaga,
  statusOf,
} from './support/shipments.js';

const apps = TestApps.onOwnDatabase();
const start = () => apps.start({ sagas: [OrderSaga, ShipmentSaga], options: NO_POLL });

describe('while a saga waits for another', () => {
  /** An order whose shipment is held in its first step. */
  async function held() {
    const app = await start();
    script.gate = new Gate();
    script.holds = 'pack';
    const { id, outcome } = await app.sagas.start(OrderSaga, { address: 'home' });
    await until(() => journal.includes('pack'));
    const child = await until(() => childOf(app.sagas, id));
    await until(async () => (await app.sagas.get(id)).lockedBy === undefined);
    return { ...app, id, outcome, child };
  }

  test('cancelling it cancels the other, and compensates the steps before once that has rolled back', async () => {
    const { sagas, id, child, outcome } = await held();
    await sagas.cancel(id, { reason: 'changed my mind' });
    await until(() => script.aborted.includes('pack'));
    expect(await statusOf(sagas, id)).toBe('compensating');
    expect(journal).not.toContain('undo pay');
    script.gate.open();
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'cancelled', reason: 'changed my mind' },
    });
    expect(journal).toEqual(['pay', 'ship', 'pack', 'undo pack', 'undo pay']);
    expect(await statusOf(sagas, child)).toBe('compensated');
  });

  test('cancelling the other makes its step fail', async () => {
    const { sagas, child, outcome } = await held();
    await sagas.cancel(child, { reason: 'no driver' });
    script.gate.open();
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { step: 'ship', error: { message: expect.stringContaining('no driver') } },
    });
  });

  test('aborting it aborts the other, and compensates nothing', async () => {
    const { sagas, operations, id, child, outcome } = await held();
    await operations.abort(id);
    expect((await outcome()).status).toBe('aborted');
    expect(await statusOf(sagas, child)).toBe('aborted');
    script.gate.open();
    expect(journal).toEqual(['pay', 'ship', 'pack']);
    // An answer that was lost: to say it again does no harm.
    await operations.abort(id);
  });

  test('aborting the other makes its step fail, and leaves its effects to the operator', async () => {
    const { operations, child, outcome } = await held();
    await operations.abort(child);
    expect((await outcome()).status).toBe('compensated');
    expect(journal).toEqual(['pay', 'ship', 'pack', 'undo pay']);
  });
});

test('a saga that needs an operator keeps its parent waiting, visible to the operator', async () => {
  @Saga({ name: 'shipment', retry: ONCE, onFailure: 'suspend' })
  class Suspending extends Scripted {
    @Step() send(ctx: StepContext<Parcel>) {
      return this.play(ctx, 'sent');
    }
  }
  @Saga({ name: 'order' })
  class Order {
    @SubSaga(() => Suspending) ship(_ctx: StepContext<object>): Parcel {
      return { address: 'home' };
    }
  }
  script.refused = ['send'];
  const { sagas, operations } = await apps.start({ sagas: [Suspending, Order], options: NO_POLL });
  const { id, outcome } = await sagas.start(Order, {});
  const child = await until(() => childOf(sagas, id));
  await until(async () => (await statusOf(sagas, child)) === 'suspended');
  expect(await sagas.get(id)).toMatchObject({
    status: 'running',
    waitingFor: { kind: 'sub-saga', id: child },
  });
  script.refused = [];
  await operations.retry(child);
  expect(await outcome()).toMatchObject({ status: 'completed', results: { ship: { send: 'sent' } } });
});

test('a saga past its pivot cannot be compensated: its parent needs an operator, who completes the step manually', async () => {
  @Saga({ name: 'shipment', retry: ONCE })
  class Pivotal extends Scripted {
    @Step({ pivot: true }) send(ctx: StepContext<Parcel>) {
      return this.play(ctx, 'sent');
    }
  }
  @Saga({ name: 'order', retry: ONCE })
  class Order extends Scripted {
    @SubSaga(() => Pivotal) ship(_ctx: StepContext<object>): Parcel {
      return { address: 'home' };
    }
    @Step() bill(ctx: StepContext) {
      return this.play(ctx);
    }
  }
  script.refused = ['bill'];
  const { sagas, operations } = await apps.start({ sagas: [Pivotal, Order], options: NO_POLL });
  const { id, outcome } = await sagas.start(Order, {});
  expect((await outcome()).status).toBe('stuck');
  const { steps } = await sagas.get(id);
  expect(steps.find(({ name }) => name === 'ship')).toMatchObject({
    status: 'compensation_failed',
    errors: [{ message: expect.stringContaining('pivot'), during: 'compensation' }],
  });
  const child = await childOf(sagas, id);
  await expect(operations.undo(child)).rejects.toThrow(SagaStateError);
  await operations.resolve(id, 'ship', { reason: 'called it back by phone' });
  await until(async () => (await statusOf(sagas, id)) === 'compensated');
});

test('a deadline that passes meanwhile cancels the other saga', async () => {
  @Saga({ name: 'order', timeout: '1h' })
  class Order {
    @SubSaga(() => ShipmentSaga) ship(_ctx: StepContext<object>): Parcel {
      return { address: 'home' };
    }
  }
  script.gate = new Gate();
  const { sagas } = await apps.start({ sagas: [Order, ShipmentSaga] });
  const { id, outcome } = await sagas.start(Order, {});
  await until(() => journal.includes('pack'));
  await until(async () => (await sagas.get(id)).lockedBy === undefined);
  // The hour is over.
  await apps.sql(
    'UPDATE saga.instance SET deadline_at = now(), due_at = now(), rank_at = now() WHERE id = $1',
    [id],
  );
  await until(() => script.aborted.includes('pack'));
  script.gate.open();
  expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  expect(await statusOf(sagas, await childOf(sagas, id))).toBe('compensated');
});

test('a saga that was undone before its parent came to ask for it is not waited for', async () => {
  let calls = 0;
  @Saga({ name: 'order', retry: { attempts: 2, delay: '1s', jitter: 0 } })
  class Order extends Scripted {
    @SubSaga(() => ShipmentSaga) ship(_ctx: StepContext<object>): Parcel {
      return { address: 'home' };
    }
    @Step() bill() {
      calls += 1;
      if (calls === 1) throw new Error('try again');
      throw new StepRejectedError('no');
    }
  }
  const { sagas, operations } = await apps.start({ sagas: [Order, ShipmentSaga], options: NO_POLL });
  const { id, outcome } = await sagas.start(Order, {});
  await until(() => calls === 1);
  const child = await until(() => childOf(sagas, id));
  await operations.undo(child);
  await until(async () => (await statusOf(sagas, child)) === 'compensated');
  expect((await outcome({ timeout: '20s' })).status).toBe('compensated');
  expect(journal).toEqual(['pack', 'send', 'undo send', 'undo pack']);
});
