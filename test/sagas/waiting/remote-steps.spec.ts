import {
  type HandlerCompensationContext,
  type HandlerContext,
  RemoteStep,
  type RemoteInput,
  Saga,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate, until } from '../../support/gate.js';
import {
  calls,
  journal,
  NO_POLL,
  type Order,
  OrderSaga,
  remoteScene,
  script,
  StockHandlers,
} from '../../support/remote-scene.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const { shop, stock, order, childOf, waitsForHandler } = remoteScene(apps);
const ONCE = { attempts: 1 };

describe('a remote step', () => {
  test('runs only in the process that has its handler, and completes with its result', async () => {
    const { sagas } = await shop();
    await apps.start({ sagas: [OrderSaga], options: NO_POLL });
    await stock();
    const { outcome } = await order(sagas);
    const { status, results } = await outcome();
    expect(status).toBe('completed');
    expect(results).toEqual({ reserve: { id: 'for reserve' }, ship: 'for reserve' });
    expect(journal).toEqual(['shop: pay', 'stock: reserve cup', 'shop: ship']);
  });

  test('may have its handler in the same process', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], providers: [StockHandlers], options: NO_POLL });
    expect(await (await order(sagas)).outcome()).toMatchObject({
      status: 'completed',
      results: { reserve: { id: 'for reserve' } },
    });
  });

  test('gives its handler the saga that asks, and a key of its own', async () => {
    const { sagas } = await shop();
    await stock();
    script.fails = [new Error('not now')];
    const { id, outcome } = await order(sagas);
    await outcome();
    const [first, second] = calls;
    expect(first).toMatchObject({ sagaId: id, correlationId: 'order-7', step: 'reserve', attempt: 1 });
    expect(second).toMatchObject({ sagaId: id, attempt: 2, idempotencyKey: first!.idempotencyKey });
    expect(first!.idempotencyKey).toBe(`${await childOf(sagas, id)}:stock.reserve`);
  });

  test('waits with no worker or lease in the asking process while its handler is at work', async () => {
    const { sagas } = await shop();
    await stock();
    script.gate = new Gate();
    const { id, outcome } = await order(sagas);
    await until(() => journal.includes('stock: reserve cup'));
    const { waitingFor, lockedBy } = await until(async () => {
      const found = await sagas.get(id);
      return found.lockedBy === undefined ? found : undefined;
    });
    expect(lockedBy).toBeUndefined();
    expect(waitingFor).toEqual({
      kind: 'remote-step',
      step: 'reserve',
      handler: 'stock.reserve',
      version: 1,
      id: await childOf(sagas, id),
    });
    script.gate.open();
    expect((await outcome()).status).toBe('completed');
  });

  test('may be given nothing, and come to nothing', async () => {
    class Clock {
      @StepHandler('clock.tick')
      tick({ input }: HandlerContext<undefined>): void {
        journal.push(`tick ${JSON.stringify(input)}`);
      }
    }
    @Saga({ name: 'ticking' })
    class TickingSaga {
      @RemoteStep('clock.tick') tick(_ctx: StepContext): RemoteInput<Clock['tick']> {
        return undefined;
      }
    }
    const { sagas } = await apps.start({ sagas: [TickingSaga], providers: [Clock], options: NO_POLL });
    const { outcome } = await sagas.start(TickingSaga, undefined);
    expect(await outcome()).toMatchObject({ status: 'completed', results: {} });
    expect(journal).toEqual(['tick undefined']);
  });

  test('may be the pivot', async () => {
    @Saga({ name: 'committed' })
    class CommittedSaga {
      @RemoteStep('stock.reserve', { pivot: true })
      reserve(ctx: StepContext<Order>): RemoteInput<StockHandlers['reserve']> {
        return ctx.input;
      }
      @Step({ retry: ONCE }) ship() {
        throw new Error('no van');
      }
    }
    const { sagas } = await apps.start({ sagas: [CommittedSaga], options: NO_POLL });
    await stock();
    const { outcome } = await sagas.start(CommittedSaga, { sku: 'cup' });
    expect(await outcome()).toMatchObject({ status: 'stuck', results: { reserve: { id: 'for reserve' } } });
    expect(journal).toEqual(['stock: reserve cup']);
  });

  test('is skipped by its `when`, and no handler is called', async () => {
    @Saga({ name: 'choosy' })
    class ChoosySaga {
      @RemoteStep('stock.reserve', { when: () => false }) reserve(): object {
        return {};
      }
      @Step() end() {}
    }
    const { sagas } = await apps.start({ sagas: [ChoosySaga], options: NO_POLL });
    expect((await (await sagas.start(ChoosySaga, undefined)).outcome()).status).toBe('completed');
    expect(await apps.sql('SELECT FROM saga.instance')).toHaveLength(1);
  });
});

describe('while no process has the handler', () => {
  test('the saga waits, says so with the name of the handler, and goes on once one is deployed', async () => {
    const app = await shop();
    const { id, outcome } = await order(app.sagas);
    const waiting = await waitsForHandler(app, id);
    expect(waiting).toEqual({
      kind: 'handler',
      step: 'reserve',
      handler: 'stock.reserve',
      version: 1,
      id: await childOf(app.sagas, id),
      since: expect.any(Date),
      deployed: false,
    });
    await stock();
    expect((await outcome()).status).toBe('completed');
  });

  test('because those that had it are stopped, it says that they were there', async () => {
    const app = await shop();
    await (await stock()).close();
    const { id } = await order(app.sagas);
    expect(await waitsForHandler(app, id)).toMatchObject({ handler: 'stock.reserve', deployed: true });
  });

  test('the saga can be cancelled, and ends without it', async () => {
    const app = await shop();
    const { id, outcome } = await order(app.sagas);
    const { id: child } = await waitsForHandler(app, id);
    await app.sagas.cancel(id, { reason: 'changed my mind' });
    expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'cancelled' } });
    expect((await app.sagas.get(child)).status).toBe('compensated');
    expect(journal).toEqual(['shop: pay', 'shop: undo pay']);
    await stock({ worker: { pollInterval: 20 } });
    expect((await app.sagas.get(child)).steps).toEqual([]);
  });

  test('the saga rolls back at its deadline', async () => {
    @Saga({ name: 'hasty', timeout: 50 })
    class HastySaga {
      @RemoteStep('stock.reserve') reserve(ctx: StepContext<Order>): RemoteInput<StockHandlers['reserve']> {
        return ctx.input;
      }
    }
    const { sagas } = await apps.start({ sagas: [HastySaga], options: NO_POLL });
    const { outcome } = await sagas.start(HastySaga, { sku: 'cup' });
    expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  });

  test('the saga can be aborted', async () => {
    const app = await shop();
    const { id } = await order(app.sagas);
    const { id: child } = await waitsForHandler(app, id);
    await app.operations.abort(id);
    expect((await app.sagas.get(child)).status).toBe('aborted');
  });
});

describe('a handler that fails', () => {
  test('is tried again by its own policy', async () => {
    const { sagas } = await shop();
    await stock();
    script.fails = [new Error('not now'), new Error('not now')];
    expect((await (await order(sagas)).outcome()).status).toBe('completed');
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  test('permanently makes the saga roll back, with its own error', async () => {
    const { sagas } = await shop();
    await stock();
    script.fails = [1, 2, 3].map(() => new TypeError('broken'));
    const { id, outcome } = await order(sagas);
    expect((await outcome()).failure).toMatchObject({
      kind: 'error',
      step: 'reserve',
      error: { name: 'TypeError', message: 'broken' },
    });
    expect(journal.at(-1)).toBe('shop: undo pay');
    expect((await sagas.get(id)).steps[1]).toMatchObject({
      status: 'failed',
      errors: [{ message: 'broken', during: 'step' }],
    });
  });

  test('by rejection rolls the saga back immediately, as rejected', async () => {
    const { sagas } = await shop();
    await stock();
    script.fails = [new StepRejectedError('sold out')];
    const { outcome } = await order(sagas);
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: {
        kind: 'rejected',
        step: 'reserve',
        error: { code: 'SAGA_STEP_REJECTED', message: 'sold out' },
      },
    });
    expect(journal).toEqual(['shop: pay', 'stock: reserve cup', 'shop: undo pay']);
  });

  test('by its timeout is undone where it is, and turns the saga back as timed out', async () => {
    class Slow {
      @StepHandler('slow', { timeout: 20, retry: ONCE, compensate: 'undo' })
      async run({ signal }: HandlerContext): Promise<void> {
        await aborted(signal);
      }
      undo({ result }: HandlerCompensationContext<unknown, void>) {
        journal.push(`undo what may have been done: ${String(result)}`);
      }
    }
    @Saga({ name: 'patient' })
    class PatientSaga {
      @RemoteStep('slow') run(): void {}
    }
    const { sagas } = await apps.start({ sagas: [PatientSaga], providers: [Slow], options: NO_POLL });
    const { outcome } = await sagas.start(PatientSaga, undefined);
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'timeout', step: 'run' },
    });
    expect(journal).toEqual(['undo what may have been done: undefined']);
  });

  test('is asked again under another key after a rollback to a savepoint', async () => {
    @Saga({ name: 'persistent' })
    class PersistentSaga {
      @Step({ savepoint: true }) begin() {}
      @RemoteStep('stock.reserve') reserve(ctx: StepContext<Order>): RemoteInput<StockHandlers['reserve']> {
        return ctx.input;
      }
    }
    const { sagas } = await apps.start({ sagas: [PersistentSaga], options: NO_POLL });
    await stock();
    script.fails = [new StepRejectedError('not this time')];
    expect((await (await sagas.start(PersistentSaga, { sku: 'cup' })).outcome()).status).toBe('completed');
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  });

  test('because an operator aborted it reports that', async () => {
    const { sagas, operations } = await shop();
    await stock();
    script.gate = new Gate();
    const { id, outcome } = await order(sagas);
    const child = await until(() => childOf(sagas, id));
    await until(() => calls.length);
    await operations.abort(child, { reason: 'the warehouse is on fire' });
    script.gate.open();
    expect((await outcome()).failure).toMatchObject({
      kind: 'error',
      error: {
        message: `Handler 'stock.reserve' version 1 (${child}) was aborted: the warehouse is on fire`,
      },
    });
  });
});

describe('undoing the saga', () => {
  test('compensates the remote step in the process of its handler, then by its own compensation', async () => {
    const { sagas } = await shop();
    await stock();
    script.refused = true;
    const { id, outcome } = await order(sagas);
    expect((await outcome()).status).toBe('compensated');
    expect(journal.slice(3)).toEqual([
      'stock: release for reserve of cup, asked by reserve',
      'shop: tell that for reserve is free',
      'shop: undo pay',
    ]);
    expect((await sagas.get(id)).steps[1]!.status).toBe('compensated');
  });

  test('that completed does, too, and waits for a process that has the handler', async () => {
    const app = await shop();
    const other = await stock();
    const { id, outcome } = await order(app.sagas);
    await outcome();
    await other.close();
    expect(await app.operations.previewRollback(id)).toMatchObject({
      compensations: [
        {
          step: 'reserve',
          subSaga: {
            compensations: [{ step: 'stock.reserve', compensate: 'release' }],
            withoutCompensation: [],
          },
        },
        { step: 'reserve', compensate: 'tell' },
        { step: 'pay' },
      ],
    });
    await app.operations.undo(id);
    expect(await waitsForHandler(app, id)).toMatchObject({ handler: 'stock.reserve', deployed: true });
    await stock();
    expect((await app.sagas.wait(id)).status).toBe('compensated');
    expect(journal).toContain('stock: release for reserve of cup, asked by reserve');
  });

  test('aborts the signal of a handler that is at work, and compensates it if it completes all the same', async () => {
    const { sagas } = await shop();
    await stock();
    script.gate = new Gate();
    const { id, outcome } = await order(sagas);
    await until(() => calls.length);
    await until(async () => (await sagas.get(id)).lockedBy === undefined);
    await sagas.cancel(id);
    await aborted(calls[0]!.signal);
    script.gate.open();
    expect((await outcome()).status).toBe('compensated');
    expect(journal).toContain('stock: release for reserve of cup, asked by reserve');
  });
});
