import {
  type CompensationContext,
  Saga,
  type SagaService,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  type SubSagaInput,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ONCE = { attempts: 1 };
/** Nothing here may be found by polling: what waits has to be woken. */
const NO_POLL = { worker: { pollInterval: '1h' } };

interface Parcel {
  address: string;
}

/** Of each test anew: what its sagas wait for, and what they refuse. */
let gate: Gate;
/** The step that waits at the gate; undefined: all do. */
let holds: string | undefined;
let refused: string[];
/** Steps whose signal aborted. */
let aborted: string[];
beforeEach(() => {
  gate = new Gate();
  gate.open();
  holds = undefined;
  refused = [];
  aborted = [];
});

abstract class Scripted extends Journalled {
  /** Writes down that it runs, and waits for the gate. */
  protected async play<T>(ctx: StepContext, result?: T): Promise<T> {
    this.note(ctx);
    ctx.signal.addEventListener('abort', () => aborted.push(ctx.step));
    if (holds === undefined || holds === ctx.step) await gate.opened;
    if (refused.includes(ctx.step)) throw new StepRejectedError(`${ctx.step} is refused`);
    return result as T;
  }
}

@Saga({ name: 'shipment', retry: ONCE })
class ShipmentSaga extends Scripted {
  @Step({ compensate: 'undo' }) pack(ctx: StepContext<Parcel>) {
    return this.play(ctx, { box: ctx.input.address.length });
  }
  @Step({ compensate: 'undo' }) send(ctx: StepContext<Parcel>) {
    return this.play(ctx, { tracking: `to ${ctx.input.address}` });
  }
}

@Saga({ name: 'order', retry: ONCE })
class OrderSaga extends Scripted {
  @Step({ compensate: 'undo' }) pay(ctx: StepContext<{ address: string }>) {
    return this.play(ctx, 'paid');
  }
  @SubSaga(() => ShipmentSaga, { compensate: 'tell' })
  ship(ctx: StepContext<{ address: string }>): SubSagaInput<ShipmentSaga> {
    journal.push('ship');
    if (refused.includes('ship')) throw new StepRejectedError('ship is refused');
    return { address: ctx.input.address };
  }
  tell(ctx: CompensationContext<unknown, { send: { tracking: string } }>) {
    journal.push(`tell about the parcel ${ctx.result?.send.tracking}`);
  }
  @Step() async bill(ctx: StepContext<unknown, OrderSaga>): Promise<string> {
    return this.play(ctx, ctx.results.ship.send.tracking);
  }
}

const start = () => apps.start({ sagas: [OrderSaga, ShipmentSaga], options: NO_POLL });
const childOf = async (sagas: SagaService, id: string, step = 'ship'): Promise<string> =>
  (await sagas.get(id)).steps.find(({ name }) => name === step)!.child!;
const status = async (sagas: SagaService, id: string) => (await sagas.get(id)).status;

describe('a sub-saga step', () => {
  test('has the results of its saga for its own, and waits for it with no worker, lease or poll', async () => {
    const { sagas } = await start();
    gate = new Gate();
    const { id, outcome } = await sagas.start(OrderSaga, { address: 'home' });
    gate.open();
    await until(() => journal.includes('pay'));
    gate = new Gate();
    const child = await until(() => childOf(sagas, id));
    await until(async () => (await sagas.get(child)).lockedBy !== undefined);
    const waiting = await until(async () => {
      const snapshot = await sagas.get(id);
      return snapshot.lockedBy === undefined && snapshot;
    });
    expect(waiting).toMatchObject({
      status: 'running',
      step: 'ship',
      waitingFor: { kind: 'sub-saga', step: 'ship', id: child },
    });
    expect(await sagas.get(child)).toMatchObject({
      saga: 'shipment',
      input: { address: 'home' },
      parent: { id, step: 'ship' },
    });
    gate.open();
    expect(await outcome()).toMatchObject({
      status: 'completed',
      results: { ship: { pack: { box: 4 }, send: { tracking: 'to home' } }, bill: 'to home' },
    });
    expect(journal).toEqual(['pay', 'ship', 'pack', 'send', 'bill']);
    expect((await sagas.get(child)).status).toBe('completed');
  });

  test('is undone through the compensations of its saga, and then its own', async () => {
    refused = ['bill'];
    const { sagas } = await start();
    const { id, outcome } = await sagas.start(OrderSaga, { address: 'home' });
    expect((await outcome()).status).toBe('compensated');
    expect(journal).toEqual([
      ...['pay', 'ship', 'pack', 'send', 'bill'],
      ...['undo send', 'undo pack', 'tell about the parcel to home', 'undo pay'],
    ]);
    expect(await sagas.get(await childOf(sagas, id))).toMatchObject({
      status: 'compensated',
      failure: { kind: 'undone', reason: expect.stringContaining(id) },
    });
  });

  test('has failed when its saga turns back, which undoes itself', async () => {
    refused = ['send'];
    const { sagas } = await start();
    const { outcome } = await sagas.start(OrderSaga, { address: 'home' });
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: {
        kind: 'error',
        step: 'ship',
        error: { message: expect.stringContaining('send is refused') },
      },
    });
    expect(journal).toEqual(['pay', 'ship', 'pack', 'send', 'undo pack', 'undo pay']);
  });

  test('starts nothing when its method refuses', async () => {
    refused = ['ship'];
    const { sagas } = await start();
    const { outcome } = await sagas.start(OrderSaga, { address: 'home' });
    expect((await outcome()).status).toBe('compensated');
    expect(journal).toEqual(['pay', 'ship', 'undo pay']);
    expect((await sagas.find({ saga: ShipmentSaga })).items).toEqual([]);
  });

  test('is planned with what its saga would undo, as it then is', async () => {
    refused = ['bill'];
    const { sagas } = await apps.start({
      sagas: [OrderSaga, ShipmentSaga],
      options: NO_POLL,
    });
    const { id, outcome } = await sagas.start(OrderSaga, { address: 'home' });
    await outcome();
    refused = [];
    journal.length = 0;
    const second = await sagas.start(OrderSaga, { address: 'work' });
    await second.outcome();
    const plan = await sagas.previewRollback(second.id);
    expect(plan.compensations).toMatchObject([
      {
        step: 'ship',
        subSaga: {
          id: await childOf(sagas, second.id),
          compensations: [
            { step: 'send', compensate: 'undo', result: { tracking: 'to work' } },
            { step: 'pack', compensate: 'undo', result: { box: 4 } },
          ],
        },
      },
      { step: 'ship', compensate: 'tell', result: { send: { tracking: 'to work' } } },
      { step: 'pay', compensate: 'undo', result: 'paid' },
    ]);
    journal.length = 0;
    await sagas.undo(second.id, { reason: 'returned' });
    await until(async () => (await status(sagas, second.id)) === 'compensated');
    expect(journal).toEqual(['undo send', 'undo pack', 'tell about the parcel to work', 'undo pay']);
    expect((await sagas.get(second.id)).failure).toEqual({ kind: 'undone', reason: 'returned' });
    expect((await sagas.previewRollback(id)).compensations).toEqual([]);
  });
});

describe('while a saga waits for another', () => {
  /** An order whose shipment is held in its first step. */
  async function held() {
    const app = await start();
    gate = new Gate();
    holds = 'pack';
    const { id, outcome } = await app.sagas.start(OrderSaga, { address: 'home' });
    await until(() => journal.includes('pack'));
    const child = await until(() => childOf(app.sagas, id));
    await until(async () => (await app.sagas.get(id)).lockedBy === undefined);
    return { ...app, id, outcome, child };
  }

  test('cancelling it cancels the other, and undoes what came before once that has turned back', async () => {
    const { sagas, id, child, outcome } = await held();
    await sagas.cancel(id, { reason: 'changed my mind' });
    await until(() => aborted.includes('pack'));
    expect(await status(sagas, id)).toBe('compensating');
    expect(journal).not.toContain('undo pay');
    gate.open();
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'cancelled', reason: 'changed my mind' },
    });
    expect(journal).toEqual(['pay', 'ship', 'pack', 'undo pack', 'undo pay']);
    expect(await status(sagas, child)).toBe('compensated');
  });

  test('cancelling the other makes its step fail', async () => {
    const { sagas, child, outcome } = await held();
    await sagas.cancel(child, { reason: 'no driver' });
    gate.open();
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { step: 'ship', error: { message: expect.stringContaining('no driver') } },
    });
  });

  test('aborting it aborts the other, and undoes nothing', async () => {
    const { sagas, id, child, outcome } = await held();
    await sagas.abort(id);
    expect((await outcome()).status).toBe('aborted');
    expect(await status(sagas, child)).toBe('aborted');
    gate.open();
    expect(journal).toEqual(['pay', 'ship', 'pack']);
    // An answer that was lost: to say it again does no harm.
    await sagas.abort(id);
  });

  test('aborting the other makes its step fail, and the operator who did answers for its effects', async () => {
    const { sagas, child, outcome } = await held();
    await sagas.abort(child);
    expect((await outcome()).status).toBe('compensated');
    expect(journal).toEqual(['pay', 'ship', 'pack', 'undo pay']);
  });
});

test('a saga that needs a person keeps the one that waits for it waiting, in view of that person', async () => {
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
  refused = ['send'];
  const { sagas } = await apps.start({ sagas: [Suspending, Order], options: NO_POLL });
  const { id, outcome } = await sagas.start(Order, {});
  const child = await until(() => childOf(sagas, id));
  await until(async () => (await status(sagas, child)) === 'suspended');
  expect(await sagas.get(id)).toMatchObject({
    status: 'running',
    waitingFor: { kind: 'sub-saga', id: child },
  });
  refused = [];
  await sagas.retry(child);
  expect(await outcome()).toMatchObject({ status: 'completed', results: { ship: { send: 'sent' } } });
});

test('a saga past its pivot cannot be undone: the one that started it needs a person, who does it by hand', async () => {
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
  refused = ['bill'];
  const { sagas } = await apps.start({ sagas: [Pivotal, Order], options: NO_POLL });
  const { id, outcome } = await sagas.start(Order, {});
  expect((await outcome()).status).toBe('stuck');
  const { steps } = await sagas.get(id);
  expect(steps.find(({ name }) => name === 'ship')).toMatchObject({
    status: 'compensation_failed',
    errors: [{ message: expect.stringContaining('pivot'), during: 'compensation' }],
  });
  const child = await childOf(sagas, id);
  await expect(sagas.undo(child)).rejects.toThrow(SagaStateError);
  await sagas.skip(id, 'ship', { reason: 'called it back by phone' });
  await until(async () => (await status(sagas, id)) === 'compensated');
});

test('sagas nest, run side by side and race: the losers are cancelled, all the way down', async () => {
  @Saga({ name: 'leg' })
  class Leg extends Scripted {
    @Step({ compensate: 'undo' }) async fly(ctx: StepContext<{ slow: boolean }>) {
      this.note(ctx);
      if (ctx.input.slow) await gate.opened;
    }
  }
  @Saga({ name: 'trip' })
  class Trip {
    @SubSaga(() => Leg) leg(ctx: StepContext<{ slow: boolean }>): { slow: boolean } {
      return { slow: ctx.input.slow };
    }
  }
  @Saga({ name: 'travel' })
  class Travel extends Scripted {
    @SubSaga(() => Trip, { after: [] }) slowly(_ctx: StepContext<object>): { slow: boolean } {
      return { slow: true };
    }
    @SubSaga(() => Trip, { after: [] }) quickly(_ctx: StepContext<object>): { slow: boolean } {
      return { slow: false };
    }
    @Step({ after: ['slowly', 'quickly'], join: 'any' }) arrive(ctx: StepContext) {
      return this.note(ctx);
    }
  }
  gate = new Gate();
  const { sagas } = await apps.start({ sagas: [Leg, Trip, Travel], options: NO_POLL });
  const { id, outcome } = await sagas.start(Travel, {});
  await until(() => journal.includes('arrive'));
  gate.open();
  expect((await outcome()).status).toBe('completed');
  const slow = await childOf(sagas, id, 'slowly');
  expect(await status(sagas, slow)).toBe('compensated');
  const leg = await childOf(sagas, slow, 'leg');
  expect(await status(sagas, leg)).toBe('compensated');
  expect(await status(sagas, await childOf(sagas, id, 'quickly'))).toBe('completed');
});

test('another round after a savepoint starts another saga', async () => {
  @Saga({ name: 'order', retry: ONCE })
  class Order extends Scripted {
    @Step({ savepoint: true }) pay(ctx: StepContext<object>) {
      return this.play(ctx);
    }
    @SubSaga(() => ShipmentSaga) ship(ctx: StepContext<object>): Parcel {
      return { address: `round ${ctx.round}` };
    }
    @Step() bill(ctx: StepContext) {
      if (ctx.round === 1) throw new StepRejectedError('not yet');
      return this.play(ctx);
    }
  }
  const { sagas } = await apps.start({ sagas: [Order, ShipmentSaga], options: NO_POLL });
  const { outcome } = await sagas.start(Order, {});
  expect(await outcome()).toMatchObject({
    status: 'completed',
    results: { ship: { send: { tracking: 'to round 2' } } },
  });
  const { items } = await sagas.find({ saga: ShipmentSaga });
  expect(items.map((item) => item.status).sort()).toEqual(['compensated', 'completed']);
});

test('a deadline that passes meanwhile cancels the other saga', async () => {
  @Saga({ name: 'order', timeout: '1h' })
  class Order {
    @SubSaga(() => ShipmentSaga) ship(_ctx: StepContext<object>): Parcel {
      return { address: 'home' };
    }
  }
  gate = new Gate();
  const { sagas } = await apps.start({ sagas: [Order, ShipmentSaga] });
  const { id, outcome } = await sagas.start(Order, {});
  await until(() => journal.includes('pack'));
  await until(async () => (await sagas.get(id)).lockedBy === undefined);
  // The hour is over.
  await apps.sql(
    'UPDATE saga.instance SET deadline_at = now(), due_at = now(), rank_at = now() WHERE id = $1',
    [id],
  );
  await until(() => aborted.includes('pack'));
  gate.open();
  expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  expect(await status(sagas, await childOf(sagas, id))).toBe('compensated');
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
  const { sagas } = await apps.start({ sagas: [Order, ShipmentSaga], options: NO_POLL });
  const { id, outcome } = await sagas.start(Order, {});
  await until(() => calls === 1);
  const child = await until(() => childOf(sagas, id));
  await sagas.undo(child);
  await until(async () => (await status(sagas, child)) === 'compensated');
  expect((await outcome({ timeout: '20s' })).status).toBe('compensated');
  expect(journal).toEqual(['pack', 'send', 'undo send', 'undo pack']);
});

test('many at once: each parent has the results of its own, and no wake-up is lost', async () => {
  const { sagas } = await start();
  const handles = await Promise.all(
    Array.from({ length: 300 }, (_, n) => sagas.start(OrderSaga, { address: `house ${n}` })),
  );
  const outcomes = await Promise.all(handles.map(({ outcome }) => outcome({ timeout: '60s' })));
  expect(outcomes.map(({ results }) => results.bill)).toEqual(handles.map((_, n) => `to house ${n}`));
}, 90_000);
