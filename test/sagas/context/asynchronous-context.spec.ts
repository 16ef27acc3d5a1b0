import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  addTransactionalDataSource,
  initializeTransactionalContext,
  runInTransaction,
} from 'typeorm-transactional';
import {
  Approval,
  type CompensationContext,
  OnSagaEvent,
  type ProbeAnswer,
  RemoteStep,
  Saga,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
  SubSaga,
  type TransactionalStepContext,
  UnknownOutcomeError,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import type { PayloadCodec } from '../../../libs/saga/src/encryption.js';
import { OBSERVED_EVENTS } from '../../../libs/saga/src/definition/types/observed-event.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** What an application keeps of a request. */
const request = new AsyncLocalStorage<string>();
const TENANTS = ['acme', 'globex', 'initech'];

/** Functions of the application that the library calls, each with the tenants in whose context it was called. */
const seen = new Map<string, Set<string | undefined>>();
function see<T>(what: string, answer: T): T {
  const tenants = seen.get(what) ?? new Set();
  seen.set(what, tenants.add(request.getStore()));
  return answer;
}
/** Steps fail once, so that the functions of their policies are called. */
const failed = new Set<string>();
function failOnce(ctx: StepContext, error = new Error('once more')): void {
  const attempt = `${ctx.sagaId} ${ctx.idempotencyKey}`;
  if (!failed.has(attempt)) {
    failed.add(attempt);
    throw error;
  }
}

type Ctx = StepContext<Order>;
interface Order {
  readonly n: number;
}

const retry = {
  attempts: 3,
  backoff: () => see('backoff', 1),
  retryIf: () => see('retryIf', true),
};

@Saga({
  name: 'parcel',
  lockKey: ({ input }: { input: Order }) => see('lockKey of a sub-saga', `parcel-${input.n}`),
})
class Parcel {
  @Step() pack() {
    see('a step of a sub-saga', undefined);
  }
}

@Injectable()
class Stock {
  @StepHandler('stock.take') take() {
    return see('a handler', { taken: true });
  }
}

@Saga({
  name: 'order',
  lockKey: ({ input }: { input: Order }) => see('lockKey', `order-${input.n}`),
  limit: { count: 50, key: () => see('key of limit', 'k') },
  rateLimit: { count: 10_000, per: 1_000, key: () => see('key of rateLimit', 'k') },
  timeout: () => see('timeout of a saga', '10m'),
  sla: () => see('sla', '5m'),
})
class OrderSaga {
  @Step({
    ...{ retry, when: () => see('when', true), delay: () => see('delay', 5), compensate: 'release' },
    limit: { count: 50, key: () => see('key of limit of a step', 'k') },
    rateLimit: { count: 10_000, per: 1_000, key: () => see('key of rateLimit of a step', 'k') },
  })
  async reserve(ctx: Ctx) {
    see('a step', undefined);
    failOnce(ctx);
    // What the method enters is its own, whatever it calls there, and also if it never leaves it.
    request.enterWith('of a method');
    ctx.progress({ percent: 50 });
    await ctx.heartbeat();
    return { reserved: ctx.input.n };
  }
  release(_ctx: CompensationContext<Order>) {
    see('a compensation', undefined);
  }

  @Step({ ...{ after: 'reserve', retry, timeout: '10s' }, transactional: true })
  async book(ctx: TransactionalStepContext<Order>) {
    see('a transactional step', undefined);
    failOnce(ctx);
    await ctx.transaction.query('SELECT 1');
  }

  @Step({ after: 'book', forEach: () => see('forEach', ['a', 'b']), compensate: 'giveBack' })
  item(_ctx: Ctx) {
    see('an item', undefined);
  }
  giveBack(_ctx: CompensationContext<Order>) {
    see('a compensation of an item', undefined);
  }

  @Step({ after: 'item', idempotent: false, probe: 'isSent' })
  send(_ctx: Ctx): { sent: boolean } {
    throw new UnknownOutcomeError('it may be sent');
  }
  isSent(_ctx: Ctx): ProbeAnswer<{ sent: boolean }> {
    return see('a probe', { done: { sent: true } });
  }

  @SubSaga(() => Parcel, { after: 'send' }) parcel({ input }: Ctx) {
    return see('the input of a sub-saga', { n: input.n });
  }

  @RemoteStep('stock.take', { after: 'parcel' }) take(_ctx: Ctx) {
    return see('the input of a remote step', undefined);
  }

  @WaitFor({ signal: 'paid', after: 'take', timeout: () => see('timeout of a wait', '10m'), retry })
  paid(ctx: Ctx, _payload: unknown) {
    see('a received signal', undefined);
    failOnce(ctx);
  }

  @Approval({ after: 'paid' }) approve(_ctx: Ctx) {
    see('an approved step', undefined);
  }

  @Step({ after: 'approve' }) end(): void {
    see('a step that is rejected', undefined);
    throw new StepRejectedError('no more');
  }
}

@Saga({
  name: 'nightly',
  schedule: { cron: '0 0 1 1 *', input: () => see('the input of a schedule', { n: 1 }), overlap: 'allow' },
})
class NightlySaga {
  @Step() run() {
    see('a scheduled step', undefined);
  }
}

@Saga({ name: 'fragile' })
class FragileSaga {
  @Step({ compensate: 'repair', compensationRetry: { attempts: 1 } }) first() {
    see('a step that operators act on', undefined);
  }
  repair() {
    see('a compensation that operators act on', undefined);
    throw new Error('it cannot be repaired');
  }
  @Step() second(): void {
    throw new StepRejectedError('never');
  }
}

@Injectable()
class Observer {
  @OnSagaEvent(OBSERVED_EVENTS) hear(): void {
    see('an observer', undefined);
  }
}

const codec: PayloadCodec = {
  encode: (text) => see('encode', text),
  decode: (text) => see('decode', text),
};

const PROVIDERS = {
  sagas: [OrderSaga, Parcel, Stock, NightlySaga, FragileSaga],
  providers: [Observer],
  options: { codec },
};

describe('beside the requests of three tenants', () => {
  test('no function of the application is called in the asynchronous context of a caller', async () => {
    const { sagas, schedules, operations, dataSource } = await apps.start(PROVIDERS);
    const waits = async (id: string, kind: string) =>
      until(async () => (await sagas.get(id)).waitingFor?.kind === kind);
    const asTenant = async (tenant: string, n: number) => {
      const inTransaction = await dataSource.transaction((transaction) =>
        sagas.start(OrderSaga, { n }, { transaction }),
      );
      const order = await sagas.start(OrderSaga, { n: n + 1 });
      sagas.watch(order.id).subscribe(() => see(`a subscriber of ${tenant}`, undefined));
      const [nightly, broken] = [
        await schedules.trigger(NightlySaga),
        await sagas.start(FragileSaga, {}, { delay: 20 }),
      ];
      await operations.pauseStep(Parcel, 'pack');
      await operations.pause(order.id);
      await until(async () => (await sagas.get(order.id)).status === 'paused');
      await operations.resume(order.id);
      await operations.resumeStep(Parcel, 'pack');
      for (const { id } of [inTransaction, order]) {
        await waits(id, 'signal');
        await sagas.signal(id, 'paid', { by: tenant });
        await waits(id, 'approval');
        await sagas.approve(id, 'approve', { by: 'ann' });
        await sagas.wait(id);
      }
      await broken.outcome();
      await operations.retry(broken.id);
      await broken.outcome();
      await operations.resolve(broken.id, 'first');
      await broken.outcome();
      await sagas.wait(nightly.id);
      await operations.cleanup({ olderThan: '1d' });
    };
    await Promise.all(TENANTS.map((tenant, n) => request.run(tenant, () => asTenant(tenant, 2 * n))));

    const calls = new Map([...seen].map(([what, tenants]) => [what, [...tenants]]));
    for (const tenant of TENANTS) {
      expect([tenant, calls.get(`a subscriber of ${tenant}`)]).toEqual([tenant, [tenant]]);
      calls.delete(`a subscriber of ${tenant}`);
    }
    expect([...calls].filter(([, tenants]) => tenants.some((tenant) => tenant !== undefined))).toEqual([]);
    expect([...calls.keys()].sort()).toEqual(
      [
        ...[
          'a step',
          'a compensation',
          'a transactional step',
          'an item',
          'a compensation of an item',
          'a probe',
        ],
        ...[
          'a handler',
          'a received signal',
          'an approved step',
          'a step that is rejected',
          'a scheduled step',
        ],
        ...['a step of a sub-saga', 'the input of a sub-saga', 'the input of a remote step'],
        ...['a step that operators act on', 'a compensation that operators act on'],
        ...['when', 'delay', 'forEach', 'backoff', 'retryIf', 'timeout of a wait'],
        ...[
          'lockKey',
          'lockKey of a sub-saga',
          'key of limit',
          'key of rateLimit',
          'timeout of a saga',
          'sla',
        ],
        ...['key of limit of a step', 'key of rateLimit of a step', 'the input of a schedule'],
        ...['an observer', 'encode', 'decode'],
      ].sort(),
    );
  }, 60_000);
});

/** What typeorm-transactional keeps: the transaction that is open in the context. */
@Saga({ name: 'booking' })
class BookingSaga {
  constructor(private readonly database: DataSource) {}
  @Step() first(ctx: StepContext) {
    return this.write(ctx);
  }
  @Step({ delay: (ctx: StepContext<Order>) => 50 + 10 * ctx.input.n }) later(ctx: StepContext) {
    return this.write(ctx);
  }
  private async write({ idempotencyKey }: StepContext): Promise<void> {
    await this.database.manager.query('INSERT INTO booking VALUES ($1)', [idempotencyKey]);
  }
}

@Saga({ name: 'ping' })
class PingSaga {
  @Step() a() {}
  @Step({ delay: 10 }) b() {}
}

describe('beside transactions of typeorm-transactional that are rolled back', () => {
  beforeAll(() => initializeTransactionalContext());

  test('no write of a step is part of the transaction of another caller', async () => {
    const { sagas, dataSource } = await apps.start({
      sagas: [BookingSaga, PingSaga],
      dataSource: { extra: { max: 20 } },
    });
    addTransactionalDataSource(dataSource);
    await apps.sql('CREATE TABLE booking (key text)');
    const bookings = await Promise.all(Array.from({ length: 20 }, (_, n) => sagas.start(BookingSaga, { n })));
    const request = async () => {
      for (let n = 0; n < 10; n++) {
        await sagas.start(PingSaga, {});
        await sleep(50);
      }
      throw new Error('the request fails');
    };
    const requests = Array.from({ length: 8 }, async (_, n) => {
      await sleep(n * 20);
      await runInTransaction(request);
    });
    await Promise.allSettled(requests);
    for (const booking of bookings) expect((await booking.outcome()).status).toBe('completed');
    expect(await apps.sql('SELECT count(*)::int AS written FROM booking')).toEqual([{ written: 40 }]);
  });
});
