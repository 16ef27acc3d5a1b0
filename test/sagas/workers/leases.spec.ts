import {
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
/** Every claim does this: it fences the previous holder of the saga. */
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

  test('saves nothing even if no message reports the loss', async () => {
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
