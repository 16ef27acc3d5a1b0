import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate, until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ONCE = { attempts: 1 };

describe('a fork', () => {
  test('runs its branches at the same time, and a join waits for all of them', async () => {
    const both = new Gate();
    let under = 0;
    const meet = async () => {
      under += 1;
      if (under === 2) both.open();
      await both.opened;
    };
    @Saga({ name: 'order' })
    class Order {
      @Step() begin() {
        return 1;
      }
      @Step({ after: 'begin' }) async left(): Promise<number> {
        await meet();
        return 2;
      }
      @Step({ after: 'begin' }) async right(): Promise<number> {
        await meet();
        return 3;
      }
      @Step({ after: ['left', 'right'] }) join({ results }: StepContext<unknown, Order>): number {
        return results.begin + results.left + results.right;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({ status: 'completed', results: { join: 6 } });
  });

  test('waits for a sibling that completes after the rollback started, and compensates it', async () => {
    const [failing, released] = [new Gate(), new Gate()];
    let wasAborted = false;
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ compensate: 'undo' }) first(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({ after: 'first', compensate: 'undo' }) async slow(ctx: StepContext) {
        ctx.signal.addEventListener('abort', () => (wasAborted = true));
        failing.open();
        await released.opened;
        return this.note(ctx);
      }
      @Step({ after: 'first', retry: ONCE }) async refused() {
        await failing.opened;
        throw new StepRejectedError('no');
      }
      @Step({ after: ['slow', 'refused'] }) never(ctx: StepContext) {
        return this.note(ctx);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, {});
    await until(() => wasAborted);
    await until(async () => (await sagas.get(id)).status === 'compensating');
    released.open();
    expect((await outcome()).status).toBe('compensated');
    expect(journal).toEqual(['first', 'slow', 'undo slow', 'undo first']);
  });

  test('compensates independent branches side by side, and what they stand on last', async () => {
    const both = new Gate();
    let under = 0;
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ compensate: 'undo' }) first(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({ after: 'first', compensate: 'undoTogether' }) left() {}
      @Step({ after: 'first', compensate: 'undoTogether' }) right() {}
      @Step({ after: ['left', 'right'] }) refused() {
        throw new StepRejectedError('no');
      }
      async undoTogether(ctx: CompensationContext) {
        under += 1;
        if (under === 2) both.open();
        await both.opened;
        await this.undo(ctx);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).status).toBe('compensated');
    expect(journal.at(-1)).toBe('undo first');
    expect(journal.slice(1, 3).sort()).toEqual(['undo left', 'undo right']);
  });
});

describe('a join any', () => {
  test('goes on with the first to complete; the others are aborted, and compensated if they still complete', async () => {
    const released = new Gate();
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ compensate: 'undo' }) begin(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({ after: 'begin', compensate: 'undo' }) fast(ctx: StepContext): unknown {
        return this.note(ctx, 'fast');
      }
      @Step({ after: 'begin', compensate: 'undo' }) async slow(ctx: StepContext) {
        await aborted(ctx.signal);
        await released.opened;
        return this.note(ctx, 'slow');
      }
      @Step({ after: ['fast', 'slow'], join: 'any' }) goOn(ctx: StepContext<unknown, Order>): unknown {
        expect(ctx.results.slow).toBeUndefined();
        released.open();
        return this.note(ctx, ctx.results.fast);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    const { status, results } = await outcome();
    expect({ status, results }).toEqual({
      status: 'completed',
      results: { begin: undefined, fast: 'fast', goOn: 'fast' },
    });
    expect(journal).toEqual(['begin', 'fast', 'goOn', 'slow', 'undo slow']);
  });

  test('lets another branch stand in for one that fails, and compensates what that one had done', async () => {
    const failed = new Gate();
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ after: [], compensate: 'undo' }) prepareA(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({ after: 'prepareA', retry: ONCE }) carrierA() {
        failed.open();
        throw new Error('out of trucks');
      }
      @Step({ after: [], compensate: 'undo' }) async carrierB(ctx: StepContext) {
        await failed.opened;
        return this.note(ctx, 'B');
      }
      @Step({ after: ['carrierA', 'carrierB'], join: 'any' }) confirm(ctx: StepContext) {
        return this.note(ctx, ctx.results.carrierB);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({ status: 'completed', results: { confirm: 'B' } });
    expect(journal).toContain('undo prepareA');
    expect(journal).not.toContain('undo carrierB');
  });
});

describe('a condition', () => {
  test('in a forked branch before a join skips the step and nothing else', async () => {
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step() begin(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({
        after: 'begin',
        when: (ctx: StepContext<{ gift: boolean }>) => ctx.input.gift,
        compensate: 'undo',
      })
      wrap(ctx: StepContext<{ gift: boolean }>) {
        return this.note(ctx);
      }
      @Step({ after: 'begin' }) pack(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({ after: ['wrap', 'pack'] }) ship(ctx: StepContext) {
        return this.note(ctx);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { id, outcome } = await sagas.start(Order, { gift: false });
    expect((await outcome()).status).toBe('completed');
    expect(journal).toEqual(['begin', 'pack', 'ship']);
    const { steps } = await sagas.get(id);
    expect(steps.map(({ name, status }) => [name, status])).toContainEqual(['wrap', 'skipped']);
  });

  test('that throws fails its step immediately', async () => {
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ compensate: 'undo' }) begin(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step({
        when: () => {
          throw new Error('mistyped');
        },
      })
      never(ctx: StepContext) {
        return this.note(ctx);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { step: 'never', error: { message: 'mistyped' } },
    });
    expect(journal).toEqual(['begin', 'undo begin']);
  });
});

describe('a fan-out', () => {
  interface Shipment {
    parcels: string[];
  }

  test('runs once per item, so many at a time, with a key for each, and gives their results in order', async () => {
    let [inProgress, most] = [0, 0];
    const keys: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step({ forEach: (ctx: StepContext<Shipment>) => ctx.input.parcels, itemsAtOnce: 3 })
      async ship(ctx: StepContext<Shipment>) {
        inProgress += 1;
        most = Math.max(most, inProgress);
        keys.push(ctx.idempotencyKey);
        await sleep(5);
        inProgress -= 1;
        return `${ctx.index}:${ctx.item as string}`;
      }
      @Step() count({ results }: StepContext) {
        return (results.ship as unknown[]).length;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const parcels = Array.from({ length: 10 }, (_, n) => `parcel ${n}`);
    const { id, outcome } = await sagas.start(Order, { parcels });
    const { results } = await outcome();
    expect(results).toEqual({ ship: parcels.map((parcel, n) => `${n}:${parcel}`), count: 10 });
    expect(most).toBe(3);
    expect(keys.sort()).toEqual(parcels.map((_, n) => `${id}:ship[${n}]`).sort());
    const [ship] = (await sagas.get(id)).steps;
    expect(ship!.items).toHaveLength(10);
    expect(ship!.items![3]).toMatchObject({ name: 'ship[3]', status: 'completed', result: '3:parcel 3' });
  });

  test('over nothing is done immediately', async () => {
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({ forEach: () => [], compensate: 'undo' }) none(ctx: StepContext) {
        return this.note(ctx);
      }
      @Step() afterwards(ctx: StepContext) {
        return this.note(ctx, ctx.results.none);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).results).toEqual({ none: [], afterwards: [] });
    expect(journal).toEqual(['afterwards']);
  });

  test('retries each item by itself, and compensates each completed one when one fails permanently', async () => {
    const received: unknown[] = [];
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({
        forEach: () => ['a', 'b', 'c'],
        itemsAtOnce: 1,
        compensate: 'takeBack',
        retry: { attempts: 2, delay: 1 },
      })
      ship(ctx: StepContext) {
        this.note(ctx);
        if (ctx.item === 'c' || (ctx.item === 'b' && ctx.attempt === 1)) throw new Error('no');
        return `receipt ${ctx.item as string}`;
      }
      async takeBack(ctx: CompensationContext) {
        received.push([ctx.index, ctx.item, ctx.result, ctx.idempotencyKey.slice(ctx.sagaId.length)]);
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const { outcome } = await sagas.start(Order, {});
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { step: 'ship[2]', error: { message: 'no' } },
    });
    expect([...journal].sort()).toEqual(['ship[0]', 'ship[1]', 'ship[1]', 'ship[2]', 'ship[2]']);
    expect(received).toEqual([
      [0, 'a', 'receipt a', ':ship[0]:compensate'],
      [1, 'b', 'receipt b', ':ship[1]:compensate'],
    ]);
  });

  test('goes on after a restart with the items that are not done yet', async () => {
    const stop = new Gate();
    let asked = 0;
    @Saga({ name: 'order' })
    class Order extends Journalled {
      @Step({
        forEach: () => {
          asked += 1;
          return [0, 1, 2, 3];
        },
        itemsAtOnce: 1,
      })
      async ship(ctx: StepContext) {
        if (ctx.index === 2 && ctx.attempt === 1) {
          stop.open();
          await aborted(ctx.signal);
          throw ctx.signal.reason;
        }
        return this.note(ctx, ctx.item);
      }
    }
    const first = await apps.start({ sagas: [Order], options: { worker: { shutdownTimeout: 10 } } });
    const { id } = await first.sagas.start(Order, {});
    await stop.opened;
    await first.close();
    const { sagas } = await apps.start({ sagas: [Order] });
    expect(await sagas.wait(id)).toMatchObject({ status: 'completed', results: { ship: [0, 1, 2, 3] } });
    expect(journal).toEqual(['ship[0]', 'ship[1]', 'ship[2]', 'ship[3]']);
    expect(asked).toBe(1);
  });
});
