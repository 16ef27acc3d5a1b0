import {
  type CompensationContext,
  Saga,
  type SagaModuleOptions,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const worker = (options: Exclude<SagaModuleOptions['worker'], false>): SagaModuleOptions => ({
  worker: { pollInterval: '20ms', ...options },
});
const lapse = (id: string) =>
  apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1`, [id]);
const unlock = (id: string) =>
  apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now(), locked_by = NULL WHERE id = $1`, [id]);

describe('an at-most-once step', () => {
  /** Runs `charge` until it hangs, and takes the saga away as if its worker had died there. */
  const killedInCharge = async (idempotent: boolean, compensateOnFailure = false) => {
    const [started, never] = [new Gate(), new Gate()];
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'release' }) reserve() {
        return 'reserved';
      }
      release({ result }: CompensationContext<unknown, string>) {
        ran.push(`release ${result}`);
      }
      @Step({ idempotent, compensate: 'refund', retry: { attempts: 3 }, compensateOnFailure })
      async charge({ attempt }: StepContext) {
        ran.push(`charge ${attempt}`);
        if (attempt > 1) return;
        started.open();
        await never.opened;
      }
      refund({ result, failure }: CompensationContext<unknown, void>) {
        ran.push(`refund ${String(result)} ${failure.error?.name}`);
      }
    }
    const first = await apps.start({ sagas: [Order], options: { worker: { shutdownTimeout: 0 } } });
    const order = await first.sagas.start(Order, {});
    await started.opened;
    const before = (await first.sagas.get(order.id)).steps;
    const recorded = await apps.sql<{ name: string }>('SELECT name FROM saga.step ORDER BY name');
    const second = await apps.start({ sagas: [Order], options: worker({}) });
    await lapse(order.id);
    const { status } = await second.sagas.wait(order.id);
    never.open();
    return { ran, status, before, recorded: recorded.map(({ name }) => name) };
  };

  test('is recorded before it runs, and never run again: it is undone without a result', async () => {
    const { ran, status, before, recorded } = await killedInCharge(false);
    expect(recorded).toEqual(['charge', 'reserve']);
    expect(before).toMatchObject([
      { status: 'completed' },
      { name: 'charge', status: 'running', attempts: 1 },
    ]);
    expect(ran).toEqual(['charge 1', 'refund undefined StepInterruptedError', 'release reserved']);
    expect(status).toBe('compensated');
  });

  test('is the exception: any other is run again', async () => {
    const { ran, status, before, recorded } = await killedInCharge(true);
    expect(recorded).toEqual(['reserve']);
    expect(before).toMatchObject([
      { status: 'completed' },
      { name: 'charge', status: 'running', attempts: 1 },
    ]);
    expect(ran).toEqual(['charge 1', 'charge 2']);
    expect(status).toBe('completed');
  });
});

describe('a saga that keeps taking its worker down', () => {
  test('is stuck past the bound, in view of an operator, whose retry frees it', async () => {
    let deadly = true;
    let began = new Gate<number>();
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve({ attempt, signal }: StepContext) {
        if (!deadly) return 'done';
        began.open(attempt);
        await aborted(signal);
      }
    }
    const app = await apps.start({ sagas: [Order], options: worker({ lease: '1h', maxTakeovers: 2 }) });
    const order = await app.sagas.start(Order, {});
    const attempts: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      attempts.push(await began.opened);
      began = new Gate();
      await lapse(order.id);
    }
    expect((await order.outcome()).status).toBe('stuck');
    expect(attempts).toEqual([1, 2, 3]);
    const stuck = await app.sagas.get(order.id);
    expect(stuck).toMatchObject({
      status: 'stuck',
      waitingFor: { kind: 'person' },
      failure: { kind: 'error', error: { name: 'WorkerLostError' } },
      steps: [{ name: 'reserve', errors: [{ name: 'WorkerLostError' }] }],
    });
    expect(stuck.lockedBy).toBeUndefined();
    expect((await app.sagas.find({ status: 'stuck' })).items.map(({ id }) => id)).toEqual([order.id]);
    deadly = false;
    await app.operations.retry(order.id);
    expect(await app.sagas.wait(order.id)).toMatchObject({
      status: 'completed',
      results: { reserve: 'done' },
    });
    expect((await app.sagas.get(order.id)).failure).toBeUndefined();
  });

  test('names the step that it is stuck at as what it waits for', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() reserve() {}
    }
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    const order = await web.sagas.start(Order, {});
    await apps.sql(`UPDATE saga.instance SET takeovers = 5, losses = 5, locked_by = 'lost'`);
    await apps.start({ sagas: [Order], options: worker({}) });
    expect((await order.outcome()).status).toBe('stuck');
    expect((await web.sagas.get(order.id)).waitingFor).toEqual({ kind: 'person', steps: ['reserve'] });
  });
});

test('a released lease does not count as a takeover', async () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() reserve({ attempt }: StepContext) {
      return attempt;
    }
  }
  const web = await apps.start({ sagas: [Order], options: { worker: false } });
  const order = await web.sagas.start(Order, {});
  await unlock(order.id);
  await apps.start({ sagas: [Order], options: worker({}) });
  expect(await order.outcome()).toMatchObject({ results: { reserve: 1 } });
  expect(await apps.sql('SELECT takeovers FROM saga.instance')).toEqual([{ takeovers: 0 }]);
});
