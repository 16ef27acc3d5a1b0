import {
  type CompensationContext,
  Saga,
  type SagaModuleOptions,
  Step,
  type StepContext,
  type TransactionalStepContext,
} from '../../../libs/saga/src/index.js';
import { aborted, Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const worker = (options: Exclude<SagaModuleOptions['worker'], false>): SagaModuleOptions => ({
  worker: { pollInterval: '20ms', ...options },
});
/** What every claim does: whoever held the saga before is fenced off. */
const steal = (id: string) =>
  apps.sql(
    `UPDATE saga.instance SET epoch = epoch + 1, locked_by = 'thief', due_at = now() + interval '1 hour',
       rank_at = now() + interval '1 hour' WHERE id = $1`,
    [id],
  );
const lapse = (id: string) =>
  apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1`, [id]);
const leasedUntil = async (): Promise<Date> =>
  (await apps.sql<{ due_at: Date }>('SELECT due_at FROM saga.instance'))[0]!.due_at;
const unlock = (id: string) =>
  apps.sql(`UPDATE saga.instance SET due_at = now(), rank_at = now(), locked_by = NULL WHERE id = $1`, [id]);

describe('a process without a worker', () => {
  test('starts sagas and sees them, and runs none', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() reserve() {
        ran.push('reserve');
      }
    }
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    const { id, created } = await web.sagas.start(Order, { sku: 'a' });
    expect(created).toBe(true);
    const seen = await web.sagas.get(id);
    expect(seen).toMatchObject({ status: 'running', input: { sku: 'a' }, waitingFor: { kind: 'worker' } });
    expect(seen.lockedBy).toBeUndefined();
    expect(ran).toEqual([]);
    await apps.start({ sagas: [Order] });
    expect((await web.sagas.wait(id)).status).toBe('completed');
  });
});

describe('a worker', () => {
  test('claims only the names and versions that it has', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order', version: 1 })
    class OrderV1 {
      @Step() reserve() {
        ran.push('order@1');
      }
    }
    @Saga({ name: 'order', version: 2 })
    class OrderV2 {
      @Step() reserve() {
        ran.push('order@2');
      }
    }
    @Saga({ name: 'refund' })
    class Refund {
      @Step() pay() {
        ran.push('refund@1');
      }
    }
    const web = await apps.start({ sagas: [OrderV2, Refund], options: { worker: false } });
    const order = await web.sagas.start(OrderV2, {});
    const refund = await web.sagas.start(Refund, {});
    await apps.start({ sagas: [OrderV1], options: worker({}) });
    await apps.start({ sagas: [OrderV1, Refund], options: worker({ sagas: [Refund] }) });
    expect((await refund.outcome()).status).toBe('completed');
    expect(await web.sagas.get(order.id)).toMatchObject({
      status: 'running',
      waitingFor: { kind: 'worker' },
    });
    expect(ran).toEqual(['refund@1']);
    await apps.start({ sagas: [OrderV1, OrderV2], options: worker({}) });
    expect((await order.outcome()).status).toBe('completed');
    expect(ran).toEqual(['refund@1', 'order@2']);
  });

  test('keeps a long step to itself by renewing its lease', async () => {
    const ran: string[] = [];
    const renewed = new Gate();
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve({ attempt }: StepContext) {
        ran.push(`reserve ${attempt}`);
        await renewed.opened;
      }
      @Step() ship() {
        ran.push('ship');
      }
    }
    const first = await apps.start({ sagas: [Order], options: worker({ lease: '3s' }) });
    const order = await first.sagas.start(Order, {});
    await apps.start({ sagas: [Order], options: worker({ lease: '3s' }) });
    // A first time, and again.
    for (let times = 0; times < 2; times += 1) {
      const before = await leasedUntil();
      await until(async () => (await leasedUntil()) > before);
    }
    renewed.open();
    expect((await order.outcome()).status).toBe('completed');
    expect(ran).toEqual(['reserve 1', 'ship']);
    const [row] = await apps.sql('SELECT epoch, takeovers FROM saga.instance');
    expect(row).toEqual({ epoch: 1, takeovers: 0 });
  });
});

describe('a worker whose lease was taken away', () => {
  test('saves nothing of what it did, and its signal aborts', async () => {
    const [started, finish, reason] = [new Gate(), new Gate(), new Gate<Error>()];
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve({ signal }: StepContext) {
        void aborted(signal).then(reason.open);
        started.open();
        await finish.opened;
        return 'late';
      }
      @Step() ship() {
        ran.push('ship');
      }
    }
    const app = await apps.start({ sagas: [Order], options: worker({ lease: '4s' }) });
    const { id } = await app.sagas.start(Order, {});
    await started.opened;
    await steal(id);
    expect(await reason.opened).toMatchObject({ code: 'SAGA_STEP_ABORTED', trigger: 'lease-lost' });
    finish.open();
    await app.close();
    expect(ran).toEqual([]);
    expect(await apps.sql('SELECT * FROM saga.step')).toEqual([]);
    expect(await apps.sql('SELECT status, locked_by, epoch FROM saga.instance')).toEqual([
      { status: 'running', locked_by: 'thief', epoch: 2 },
    ]);
  });

  test('saves nothing even if it never hears of it', async () => {
    const [started, finish] = [new Gate(), new Gate()];
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve() {
        started.open();
        await finish.opened;
        return 'late';
      }
      @Step() ship() {
        ran.push('ship');
      }
    }
    const app = await apps.start({ sagas: [Order] });
    const { id } = await app.sagas.start(Order, {});
    await started.opened;
    await steal(id);
    finish.open();
    await app.close();
    expect(ran).toEqual([]);
    expect(await apps.sql('SELECT * FROM saga.step')).toEqual([]);
  });

  test('commits nothing of a transactional step', async () => {
    await apps.sql('CREATE TABLE IF NOT EXISTS booking (saga uuid)');
    const [started, finish] = [new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step({ transactional: true })
      async book({ manager, sagaId }: TransactionalStepContext) {
        await manager.query('INSERT INTO booking VALUES ($1)', [sagaId]);
        started.open();
        await finish.opened;
      }
    }
    const app = await apps.start({ sagas: [Order] });
    const { id } = await app.sagas.start(Order, {});
    await started.opened;
    await steal(id);
    finish.open();
    await app.close();
    expect(await apps.sql('SELECT * FROM booking')).toEqual([]);
  });

  test('is replaced: another goes on, with the next attempt and the same idempotency key', async () => {
    const started = new Gate();
    const attempts: unknown[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve({ attempt, idempotencyKey, signal }: StepContext) {
        attempts.push([attempt, idempotencyKey]);
        if (attempt > 1) return;
        started.open();
        await aborted(signal);
      }
    }
    const first = await apps.start({
      sagas: [Order],
      options: { worker: { lease: '1h', shutdownTimeout: 0 } },
    });
    const order = await first.sagas.start(Order, {});
    await started.opened;
    const second = await apps.start({ sagas: [Order], options: worker({}) });
    await lapse(order.id);
    expect((await second.sagas.wait(order.id)).status).toBe('completed');
    expect(attempts).toEqual([
      [1, `${order.id}:reserve`],
      [2, `${order.id}:reserve`],
    ]);
  });
});

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
    await app.sagas.retry(order.id);
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

describe('a lost NOTIFY', () => {
  const listeners = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()`;

  test('costs a poll, and nothing else', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() reserve() {
        return 1;
      }
    }
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    await apps.start({ sagas: [Order], options: worker({}) });
    expect(await apps.sql(listeners)).toHaveLength(2);
    const order = await web.sagas.start(Order, {});
    expect(await order.outcome()).toMatchObject({ status: 'completed' });
  });

  test('costs a poll when it was the announcement of an outcome', async () => {
    const [started, finish] = [new Gate(), new Gate()];
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve() {
        started.open();
        await finish.opened;
      }
    }
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    await apps.start({ sagas: [Order], options: worker({}) });
    const order = await web.sagas.start(Order, {});
    await started.opened;
    const outcome = order.outcome();
    await until(async () => (await apps.sql('SELECT FROM saga.instance WHERE watched')).length);
    await apps.sql(listeners);
    finish.open();
    expect(await outcome).toMatchObject({ status: 'completed' });
  });

  test('is heard again once the connection is back', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() reserve() {}
    }
    const slow: SagaModuleOptions = { worker: { pollInterval: '1h' } };
    await apps.start({ sagas: [Order], options: slow });
    await apps.sql(listeners);
    const web = await apps.start({ sagas: [Order], options: { worker: false } });
    await until(
      async () =>
        (
          await apps.sql(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
          )
        ).length === 2,
    );
    const { id } = await web.sagas.start(Order, {});
    await until(async () => (await web.sagas.get(id)).status === 'completed');
  });
});

test('a lease that was given back is no takeover', async () => {
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
