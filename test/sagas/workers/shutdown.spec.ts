import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  type CompensationContext,
  Saga,
  SagaService,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { SAGA_POLL_INTERVAL } from '../../../libs/saga/src/operators.js';
import { aborted, Gate, pause, until } from '../../support/gate.js';
import { StatementLog } from '../../support/statement-log.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('an application that shuts down', () => {
  test('lets the running step finish, records it, and releases the saga; another worker continues immediately', async () => {
    const [started, finish, shipped] = [new Gate(), new Gate(), new Gate()];
    const ran: string[] = [];
    let closed = false;
    @Saga({ name: 'order' })
    class Order {
      @Step() async charge({ attempt }: StepContext) {
        ran.push(`charge ${attempt}`);
        started.open();
        await finish.opened;
        return 'charged';
      }
      @Step() ship() {
        ran.push(`ship ${closed ? 'elsewhere' : 'here'}`);
        shipped.open();
      }
    }
    const first = await apps.start({ sagas: [Order] });
    const { id } = await first.sagas.start(Order, {});
    await started.opened;
    const second = await apps.start({ sagas: [Order] });
    second.stopPolling();
    const closing = first.close();
    closed = true;
    finish.open();
    await closing;
    await shipped.opened;
    expect((await second.sagas.wait(id)).results).toMatchObject({ charge: 'charged' });
    expect(ran).toEqual(['charge 1', 'ship elsewhere']);
    expect(await apps.sql('SELECT takeovers, epoch FROM saga.instance')).toEqual([
      { takeovers: 0, epoch: 2 },
    ]);
  });

  test('aborts a step that runs too long; a step that obeys the signal runs again elsewhere', async () => {
    const started = new Gate();
    const reason = new Gate<unknown>();
    @Saga({ name: 'order', retry: { attempts: 1 } })
    class Order {
      @Step() async charge({ attempt, signal }: StepContext) {
        if (attempt > 1) return attempt;
        started.open();
        const error = await aborted(signal);
        reason.open(error);
        throw error;
      }
    }
    const options = { worker: { shutdownTimeout: 20 } };
    const first = await apps.start({ sagas: [Order], options });
    const { id } = await first.sagas.start(Order, {});
    await started.opened;
    await first.close();
    expect(await reason.opened).toMatchObject({ trigger: 'shutdown' });
    const second = await apps.start({ sagas: [Order] });
    expect(await second.sagas.wait(id)).toMatchObject({
      status: 'completed',
      results: { charge: 2 },
    });
  });

  test('records what ignores the signal as unknown, and does not wait for it', async () => {
    const [started, never] = [new Gate(), new Gate()];
    const ran: unknown[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step({ compensate: 'refund' }) async charge({ attempt }: StepContext) {
        if (attempt > 1) throw new Error('down');
        started.open();
        await never.opened;
      }
      refund({ result }: CompensationContext<unknown, void>) {
        ran.push(result);
      }
    }
    const first = await apps.start({ sagas: [Order], options: { worker: { shutdownTimeout: 20 } } });
    const { id } = await first.sagas.start(Order, {});
    await started.opened;
    await first.close();
    const [step] = await apps.sql('SELECT status, "unknown", attempts FROM saga.step');
    expect(step).toEqual({ status: 'pending', unknown: true, attempts: 1 });
    expect(await apps.sql('SELECT locked_by FROM saga.instance')).toEqual([{ locked_by: null }]);
    const second = await apps.start({ sagas: [Order], options: { retry: { attempts: 1 } } });
    expect((await second.sagas.wait(id)).status).toBe('compensated');
    never.open();
    expect(ran).toEqual([undefined]);
  });

  test('releases sagas that were started while it drained', async () => {
    const ran: string[] = [];
    @Saga({ name: 'order' })
    class Order {
      @Step() async charge({ sagaId }: StepContext) {
        await pause(1);
        ran.push(sagaId);
      }
    }
    const first = await apps.start({ sagas: [Order], options: { worker: { concurrency: 20 } } });
    const starts = Array.from({ length: 100 }, async (_, n) => {
      await pause(n / 10);
      return first.sagas.start(Order, {});
    });
    await until(() => ran.length > 0);
    const [ids] = await Promise.all([
      Promise.allSettled(starts).then((all) =>
        all.flatMap((s) => (s.status === 'fulfilled' ? s.value.id : [])),
      ),
      first.close(),
    ]);
    const leased = await apps.sql('SELECT id FROM saga.instance WHERE locked_by IS NOT NULL');
    expect(leased).toEqual([]);
    await apps.start({ sagas: [Order] });
    await until(() => ids.every((id) => ran.includes(id)));
    expect([...ran].sort()).toEqual([...new Set(ran)].sort());
    expect(new Set(ran)).toEqual(new Set([...ran, ...ids]));
  });

  test('before it ever ran, or twice, is no trouble', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() act() {}
    }
    const app = await apps.start({ sagas: [Order] });
    await app.close();
    await app.close();
  });
});

describe('providers of the application', () => {
  test('may start sagas from their first hook to their last', async () => {
    @Saga({ name: 'order' })
    class Order {
      @Step() act() {}
    }
    const ids: string[] = [];
    @Injectable()
    class Eager implements OnModuleInit, OnModuleDestroy {
      constructor(private readonly sagas: SagaService) {}
      async onModuleInit() {
        ids.push((await this.sagas.start(Order, {})).id);
      }
      async onModuleDestroy() {
        ids.push((await this.sagas.start(Order, {})).id);
      }
    }
    const app = await apps.start({ sagas: [Order], providers: [Eager] });
    expect((await app.sagas.wait(ids[0]!)).status).toBe('completed');
    await app.close();
    const other = await apps.start({ sagas: [Order] });
    expect((await other.sagas.wait(ids[1]!)).status).toBe('completed');
  });
});

describe('the poll', () => {
  @Saga({ name: 'order' })
  class Order {
    @Step() act() {}
  }

  test('is among the application’s scheduled intervals, and its own jobs are mounted once', async () => {
    const ticked = new Gate();
    @Injectable()
    class Jobs {
      @Interval('mine', 50) tick() {
        ticked.open();
      }
    }
    const mounted: unknown[] = [];
    const { setInterval: original } = globalThis;
    globalThis.setInterval = (...given: Parameters<typeof original>) => {
      mounted.push(given[1]);
      return original(...given);
    };
    const started = apps.start({ sagas: [Order], imports: [ScheduleModule.forRoot()], providers: [Jobs] });
    const app = await started.finally(() => (globalThis.setInterval = original));
    const registry = app.nest.get(SchedulerRegistry);
    expect(registry.getIntervals().sort()).toEqual(['mine', SAGA_POLL_INTERVAL].sort());
    expect(mounted.filter((ms) => ms === 50)).toHaveLength(1);
    await ticked.opened;
    await app.close();
    expect(registry.doesExist('interval', SAGA_POLL_INTERVAL)).toBe(false);
  });

  test('of an idle application costs less than one statement a second', async () => {
    const logger = new StatementLog();
    const app = await apps.start({ sagas: [Order], dataSource: { logging: ['query'], logger } });
    await (await app.sagas.start(Order, {})).outcome();
    await pause(100);
    expect(logger.statements.length).toBeGreaterThan(3);
    logger.statements = [];
    const since = performance.now();
    // In 5 s: the claim, the paused steps, and the question for a failover, for a minute after a saga. Two more once a minute.
    await pause(12_000);
    expect(logger.statements.length).toBeLessThan((performance.now() - since) / 1_000);
  });
});
