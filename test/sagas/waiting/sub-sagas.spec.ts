import { Saga, Step, type StepContext, StepRejectedError, SubSaga } from '../../../libs/saga/src/index.js';
import { describeWait } from '../../../libs/saga/src/operators.js';
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

describe('a sub-saga step', () => {
  test('has the results of its saga for its own, and waits for it with no worker, lease or poll', async () => {
    const { sagas } = await start();
    script.gate = new Gate();
    const { id, outcome } = await sagas.start(OrderSaga, { address: 'home' });
    script.gate.open();
    await until(() => journal.includes('pay'));
    script.gate = new Gate();
    const child = await until(() => childOf(sagas, id));
    await until(async () => (await sagas.get(child)).lockedBy !== undefined);
    const waiting = await until(async () => {
      const snapshot = await sagas.get(id);
      return snapshot.lockedBy === undefined && snapshot;
    });
    expect(waiting).toMatchObject({ status: 'running', step: 'ship' });
    expect(waiting).toHaveProperty('waitingFor', { kind: 'sub-saga', step: 'ship', id: child });
    expect(await sagas.get(child)).toMatchObject({
      saga: 'shipment',
      input: { address: 'home' },
      parent: { id, step: 'ship' },
    });
    script.gate.open();
    expect(await outcome()).toMatchObject({
      status: 'completed',
      results: { ship: { pack: { box: 4 }, send: { tracking: 'to home' } }, bill: 'to home' },
    });
    expect(journal).toEqual(['pay', 'ship', 'pack', 'send', 'bill']);
    expect((await sagas.get(child)).status).toBe('completed');
  });

  test('is undone through the compensations of its saga, and then its own', async () => {
    script.refused = ['bill'];
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

  test('says while its saga compensates that it waits for that', async () => {
    const gate = new Gate();
    @Saga({ name: 'box' })
    class BoxSaga {
      @Step({ compensate: 'unpack' }) pack() {}
      async unpack() {
        await gate.opened;
      }
    }
    @Saga({ name: 'gift', retry: ONCE })
    class GiftSaga {
      @SubSaga(() => BoxSaga) box() {
        return {};
      }
      @Step() send() {
        throw new StepRejectedError('no address');
      }
    }
    const { sagas } = await apps.start({ sagas: [GiftSaga, BoxSaga], options: NO_POLL });
    const { id, outcome } = await sagas.start(GiftSaga, {});
    const waitingFor = await until(async () => {
      const found = await sagas.get(id);
      return found.status === 'compensating' && found.waitingFor?.kind === 'sub-saga'
        ? found.waitingFor
        : undefined;
    });
    const child = await childOf(sagas, id, 'box');
    expect(waitingFor).toEqual({ kind: 'sub-saga', step: 'box', id: child, during: 'compensation' });
    expect(describeWait(waitingFor)).toBe(`saga ${child}, which step 'box' started and which compensates`);
    gate.open();
    expect((await outcome()).status).toBe('compensated');
  });

  test('fails when its saga rolls back, which compensates itself', async () => {
    script.refused = ['send'];
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
    script.refused = ['ship'];
    const { sagas } = await start();
    const { outcome } = await sagas.start(OrderSaga, { address: 'home' });
    expect((await outcome()).status).toBe('compensated');
    expect(journal).toEqual(['pay', 'ship', 'undo pay']);
    expect((await sagas.find({ saga: ShipmentSaga })).items).toEqual([]);
  });

  test('is planned with what its saga would undo, as it then is', async () => {
    script.refused = ['bill'];
    const { sagas, operations } = await apps.start({
      sagas: [OrderSaga, ShipmentSaga],
      options: NO_POLL,
    });
    const { id, outcome } = await sagas.start(OrderSaga, { address: 'home' });
    await outcome();
    script.refused = [];
    journal.length = 0;
    const second = await sagas.start(OrderSaga, { address: 'work' });
    await second.outcome();
    const plan = await operations.previewRollback(second.id);
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
    await operations.undo(second.id, { reason: 'returned' });
    await until(async () => (await statusOf(sagas, second.id)) === 'compensated');
    expect(journal).toEqual(['undo send', 'undo pack', 'tell about the parcel to work', 'undo pay']);
    expect((await sagas.get(second.id)).failure).toEqual({ kind: 'undone', reason: 'returned' });
    expect((await operations.previewRollback(id)).compensations).toEqual([]);
  });
});

test('sagas nest, run side by side and race: the losers are cancelled, all the way down', async () => {
  @Saga({ name: 'leg' })
  class Leg extends Scripted {
    @Step({ compensate: 'undo' }) async fly(ctx: StepContext<{ slow: boolean }>) {
      this.note(ctx);
      if (ctx.input.slow) await script.gate.opened;
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
  script.gate = new Gate();
  const { sagas } = await apps.start({ sagas: [Leg, Trip, Travel], options: NO_POLL });
  const { id, outcome } = await sagas.start(Travel, {});
  await until(() => journal.includes('arrive'));
  script.gate.open();
  expect((await outcome()).status).toBe('completed');
  const slow = await childOf(sagas, id, 'slowly');
  expect(await statusOf(sagas, slow)).toBe('compensated');
  const leg = await childOf(sagas, slow, 'leg');
  expect(await statusOf(sagas, leg)).toBe('compensated');
  expect(await statusOf(sagas, await childOf(sagas, id, 'quickly'))).toBe('completed');
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

test('many at once: each parent has the results of its own, and no wake-up is lost', async () => {
  const { sagas } = await start();
  const handles = await Promise.all(
    Array.from({ length: 300 }, (_, n) => sagas.start(OrderSaga, { address: `house ${n}` })),
  );
  const outcomes = await Promise.all(handles.map(({ outcome }) => outcome({ timeout: '60s' })));
  expect(outcomes.map(({ results }) => results.bill)).toEqual(handles.map((_, n) => `to house ${n}`));
}, 90_000);
