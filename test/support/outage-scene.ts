import {
  type CompensationContext,
  Saga,
  type SagaHandle,
  SagaStateError,
  Step,
  type StepContext,
  type TransactionalStepContext,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { SagaMessagingModule } from '../../libs/messaging/src/index.js';
import { AnsweringProxy } from './answering-proxy.js';
import { pause, until } from './gate.js';
import type { TestApp, TestApps } from './test-app.js';

/** Orders through a proxy, with everything that they do: what the world has of them is compared with what the database has. */
export class OutageScene {
  /** How often a card was charged, and what was refunded, by the id of the saga. */
  readonly charges = new Map<string, number>();
  readonly refunds = new Map<string, unknown[]>();
  readonly announced = new Set<string>();
  private readonly handles: SagaHandle[] = [];
  private triggered = 0;

  private constructor(
    readonly apps: TestApps,
    readonly proxy: AnsweringProxy,
    readonly app: TestApp,
    private readonly order: new () => object,
  ) {}

  static async open(apps: TestApps, lease: string | number = '2s'): Promise<OutageScene> {
    await apps.sql('CREATE TABLE IF NOT EXISTS booking (saga uuid)');
    const proxy = await AnsweringProxy.before(apps.url);
    const scene: { current?: OutageScene } = {};
    const Order = orderOf(() => scene.current!);
    const announced = (key: string) => scene.current!.announced.add(key);
    const messaging = SagaMessagingModule.forRoot({
      transport: { send: async ({ key }) => void announced(key) },
    });
    const app = await apps.start({
      sagas: [Order, Report],
      imports: [messaging],
      options: { worker: { lease: lease as '2s' } },
      dataSource: { url: proxy.url, poolSize: 10 },
    });
    return (scene.current = new OutageScene(apps, proxy, app, Order));
  }

  /** Starts orders, and signals each of them, as an application does that does not repeat calls itself. */
  async startOrders(count: number): Promise<void> {
    const one = async () => {
      const handle = await this.app.sagas.start(this.order, {});
      this.handles.push(handle);
      await this.app.sagas.signal(handle.id, 'paid', 1).catch(isUndone);
    };
    await Promise.all(Array.from({ length: count }, one));
  }

  /** What an operator does beside the orders, with a step that no other operator pauses. */
  async operate(step: string): Promise<void> {
    const { sagas, operations, schedules } = this.app;
    await operations.pauseStep('order', step, { by: 'a' });
    await operations.resumeStep('order', step, { by: 'a' });
    await operations.cleanup({ olderThan: '1h' });
    await operations.stats();
    const handle = await sagas.start(this.order, {});
    this.handles.push(handle);
    await operations.pause(handle.id, { by: 'a' });
    await until(async () => (await sagas.get(handle.id)).status === 'paused');
    await operations.resume(handle.id, { by: 'a' });
    await sagas.signal(handle.id, 'paid', 1);
    await (await schedules.trigger('report')).outcome();
    this.triggered += 1;
  }

  /** The statuses of all orders, once each has ended, and how many have each. */
  async statuses(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { status } of await Promise.all(this.handles.map(({ outcome }) => outcome())))
      counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  /** What is not as it has to be: an empty array. Each order is whole, or as if it had never been. */
  async problems(): Promise<string[]> {
    const booked = new Map(
      (
        await this.apps.sql<{ saga: string; n: number }>(
          'SELECT saga, count(*)::int AS n FROM booking GROUP BY saga',
        )
      ).map(({ saga, n }) => [saga, n]),
    );
    const problems: string[] = [];
    const [reports] = await this.apps.sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM saga.instance WHERE name = 'report' AND status = 'completed'`,
    );
    if (reports!.n !== this.triggered) problems.push(`${this.triggered} triggered, ${reports!.n} reports`);
    // After an outage the relay waits for longer than sagas do.
    await until(async () => (await this.apps.sql('SELECT FROM saga.outbox LIMIT 1')).length === 0);
    // At once: the outcome of a saga that has ended is asked for together with others.
    const ended = this.handles.map(async ({ id, outcome }) => ({ id, status: (await outcome()).status }));
    for (const { id, status } of await Promise.all(ended)) {
      const charges = this.charges.get(id) ?? 0;
      const refunds = this.refunds.get(id) ?? [];
      const bookings = booked.get(id) ?? 0;
      const isWhole = status === 'completed' && charges === 1 && refunds.length === 0 && bookings === 1;
      // A compensation may run again, with the same key, if its own checkpoint was refused.
      const isUndone = status === 'compensated' && charges === 1 && refunds.length > 0;
      if (!isWhole && !isUndone)
        problems.push(
          `${status}: ${charges} charges, ${JSON.stringify(refunds)} refunded, ${bookings} bookings`,
        );
      if (isWhole && !this.announced.has(id)) problems.push('no message was sent');
    }
    return problems;
  }

  get started(): number {
    return this.handles.length;
  }

  async close(): Promise<void> {
    this.proxy.answerTo = () => undefined;
    this.proxy.answerToConnecting = () => undefined;
    await this.app.close();
    await this.proxy.close();
    await this.apps.sql('TRUNCATE booking');
  }
}

/** Started by operators. The schedule itself is not due. */
@Saga({ name: 'report', schedule: { cron: '0 0 1 1 *', overlap: 'allow' } })
class Report {
  @Step() print() {}
}

/** An order whose data was refused may have ended before it is paid. One that waits for its payment would never end. */
function isUndone(error: unknown): void {
  if (!(error instanceof SagaStateError)) throw error;
}

function orderOf(scene: () => OutageScene): new () => object {
  @Saga({ name: 'order', retry: { attempts: 1 } })
  class Order {
    @Step({ idempotent: false, compensate: 'refund' }) async charge({ sagaId }: StepContext) {
      const { charges } = scene();
      charges.set(sagaId, (charges.get(sagaId) ?? 0) + 1);
      await pause(2);
      return { id: 'ch_1' };
    }
    refund({ sagaId, result }: CompensationContext) {
      const { refunds } = scene();
      refunds.set(sagaId, [...(refunds.get(sagaId) ?? []), result]);
    }
    @WaitFor({ signal: 'paid' }) paid() {}
    @Step({ transactional: true, retry: { attempts: 20, delay: 1 } })
    async book({ manager, sagaId }: TransactionalStepContext) {
      await manager.query('INSERT INTO booking VALUES ($1)', [sagaId]);
    }
    @Step({ limit: { count: 8 } }) async pack() {
      await pause(1);
    }
    @Step() async ship(ctx: StepContext) {
      ctx.publish({ topic: 'shipped', key: ctx.sagaId, payload: 'shipped' });
    }
  }
  return Order;
}
