import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  Approval,
  type ApprovalDecision,
  type CompensationContext,
  MessageRefusedError,
  Saga,
  SagaModule,
  type SagaModuleOptions,
  SagaOperations,
  SagaService,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { AesGcmCodec } from '../../libs/saga/src/encryption.js';
import type { MessageTransport, RelayedMessage } from '../../libs/messaging/src/relay/message-transport.js';
import { freePort } from '../../libs/cli/src/postgres/free-port.js';
import { restateEngine, type RestateEngineOptions } from '../../libs/restate/src/index.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { Gate, pause, until } from '../support/gate.js';
import '../support/with-resolvers.mjs';

const program = restateProgram();
let server: RestateServer;
/** Each process is at this address, as behind a load balancer: what was in progress when one ended goes on in the next one. */
let port: number;
const open = new Set<INestApplicationContext>();

const effects: string[] = [];
let failing = 0;
let gate = new Gate();

interface Order {
  readonly n: number;
  readonly fails?: 'once' | 'for good';
}

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ compensate: 'release' })
  reserve({ input }: StepContext<Order>): { reserved: number } {
    effects.push(`reserve ${input.n}`);
    return { reserved: input.n };
  }
  release({ input, result }: CompensationContext<Order, { reserved: number }>): void {
    effects.push(`release ${input.n} ${result?.reserved}`);
  }

  @Step({ retry: { attempts: 3, delay: '10ms' } })
  charge({ input }: StepContext<Order>): string {
    effects.push(`charge ${input.n}`);
    if (input.fails === 'for good') throw new StepRejectedError('declined');
    if (input.fails === 'once' && failing++ === 0) throw new Error('unavailable');
    return 'paid';
  }

  @Step()
  ship({ input }: StepContext<Order>): void {
    effects.push(`ship ${input.n}`);
  }
}

@Saga({ name: 'delayed' })
class DelayedSaga {
  @Step({ delay: '300ms' })
  remind(): string {
    return 'reminded';
  }
}

@Saga({ name: 'waiting' })
class WaitingSaga {
  @WaitFor({ signal: 'paid' })
  paid(_ctx: StepContext, { amount }: { amount: number }): number {
    return amount;
  }
  @Approval()
  approve(_ctx: StepContext, { by }: ApprovalDecision): string {
    return by;
  }
}

@Saga({ name: 'child' })
class ChildSaga {
  @Step()
  work({ input }: StepContext<{ times: number }>): number {
    return input.times * 2;
  }
}

@Saga({ name: 'parent' })
class ParentSaga {
  @SubSaga(() => ChildSaga)
  delegate(): { times: number } {
    return { times: 21 };
  }
}

@Saga({ name: 'slow' })
class SlowSaga {
  @Step()
  first(): string {
    effects.push('first');
    return 'done';
  }
  @Step()
  async second(): Promise<string> {
    effects.push('second');
    await gate.opened;
    return 'done';
  }
}

const attempts = { now: 0, most: 0, at: [] as number[] };

@Saga({ name: 'limited' })
class LimitedSaga {
  @Step({ limit: { count: 2 } })
  async work(): Promise<void> {
    attempts.now += 1;
    attempts.most = Math.max(attempts.most, attempts.now);
    await pause(30);
    attempts.now -= 1;
  }
  @Step({ rateLimit: { count: 3, per: '500ms' } })
  send(): void {
    attempts.at.push(performance.now());
  }
}

const running = { now: new Map<string, number>(), most: 0 };

@Saga<{ tenant: string }>({ name: 'scarce', limit: { count: 2, key: ({ input }) => input.tenant } })
class ScarceSaga {
  @Step()
  async work({ input: { tenant } }: StepContext<{ tenant: string }>): Promise<void> {
    const now = (running.now.get(tenant) ?? 0) + 1;
    running.now.set(tenant, now);
    running.most = Math.max(running.most, now);
    await pause(30);
    running.now.set(tenant, running.now.get(tenant)! - 1);
  }
}

@Saga({ name: 'publishing' })
class PublishingSaga {
  @Step()
  tell(ctx: StepContext<{ readonly card: string } | undefined>): void {
    ctx.publish({ topic: 'orders', type: 'placed', payload: { card: ctx.input?.card } });
    ctx.publish({ topic: 'orders', type: 'paid', payload: {} });
  }
  @Step()
  ship(ctx: StepContext): void {
    ctx.publish({ topic: 'orders', type: 'shipped', payload: {} });
  }
}

/** A broker that is out of order, or refuses, for so many times. */
class Broker implements MessageTransport {
  readonly taken: RelayedMessage[] = [];
  isClosed = false;

  constructor(private failures: number) {}

  async send(message: RelayedMessage): Promise<void> {
    if ((this.failures -= 1) >= 0) throw new MessageRefusedError('no queue');
    this.taken.push(message);
  }
  async close(): Promise<void> {
    this.isClosed = true;
  }
}

interface Account {
  readonly key: string;
  /** The account of a sub-saga. */
  readonly then?: string;
}

const holders = new Map<string, number>();
const worked: string[] = [];

@Saga<Account>({ name: 'account', lockKey: ({ input }) => input.key })
class AccountSaga {
  @Step({ compensate: 'undo' })
  async work({ input: { key, then } }: StepContext<Account>): Promise<void> {
    const most = (holders.get(key) ?? 0) + 1;
    holders.set(key, most);
    worked.push(`${key} ${most}`);
    await pause(20);
    holders.set(key, (holders.get(key) ?? 0) - 1);
    if (then !== undefined) await gate.opened;
  }
  undo(): void {}

  @SubSaga(() => AccountSaga, { when: ({ input }) => (input as Account).then !== undefined })
  other({ input }: StepContext<Account>): Account {
    return { key: input.then! };
  }
}

@Saga({ name: 'written', durability: 'relaxed' })
class RelaxedSaga {
  @Step()
  work(): void {}
}

@Saga({ name: 'parcel', version: 1 })
class OldParcelSaga {
  @Step()
  pick(): void {}
  @WaitFor({ signal: 'paid' })
  paid(): void {}
  @Step()
  ship(): void {}
  @WaitFor({ signal: 'delivered' })
  delivered(): void {}
}

@Saga({ name: 'parcel', version: 2, upgradeFrom: 1 })
class ParcelSaga {
  @Step()
  pick(): void {}
  @WaitFor({ signal: 'paid' })
  paid(): void {}
  @Step()
  pack({ sagaId }: StepContext): void {
    effects.push(`pack ${sagaId}`);
  }
  @Step()
  ship(): void {}
  @WaitFor({ signal: 'delivered' })
  delivered(): void {}
}

const ALL = [
  OrderSaga,
  DelayedSaga,
  WaitingSaga,
  ChildSaga,
  ParentSaga,
  SlowSaga,
  LimitedSaga,
  PublishingSaga,
  AccountSaga,
  ScarceSaga,
];

async function application(
  options: SagaModuleOptions = {},
  sagas: Type[] = ALL,
  own = port,
  given: Partial<RestateEngineOptions> = {},
) {
  const { ingress, admin } = server;
  const engine = restateEngine({ ingress, admin, port: own, ...given });
  @Module({ imports: [SagaModule.forRoot({ engine, ...options })], providers: sagas })
  class AppModule {}
  const nest = await NestFactory.createApplicationContext(AppModule, {
    logger: ['error'],
    abortOnError: false,
  });
  open.add(nest);
  return { nest, sagas: nest.get(SagaService), operations: nest.get(SagaOperations) };
}

async function close(nest: INestApplicationContext): Promise<void> {
  open.delete(nest);
  await nest.close();
}

/** Whether a saga is offered to a process within a second, or the call that does so is in progress. */
async function isOfferedSoon(id: string): Promise<boolean> {
  const calls = await server.query(`SELECT id FROM sys_invocation WHERE target = 'DurableSaga/${id}/offer'`);
  const [row] = await server.query(
    `SELECT value_utf8 AS kept FROM state WHERE service_name = 'DurableSaga' AND service_key = '${id}'`,
  );
  const { looksAt } = JSON.parse(String(row!.kept)) as { looksAt: number };
  return calls.length > 0 || looksAt < Date.now() + 1_000;
}

const describeWhere = program ? describe : describe.skip;

describeWhere('on Restate', () => {
  beforeAll(async () => {
    server = await RestateServer.start(program!);
    port = await freePort();
  });
  beforeEach(() => {
    effects.length = 0;
    failing = 0;
    gate = new Gate();
  });
  afterEach(async () => {
    for (const nest of open) await close(nest);
  });
  afterAll(() => server.stop());

  test('a saga completes, and its results can be read', async () => {
    const { sagas } = await application();
    const handle = await sagas.start(OrderSaga, { n: 1 }, { correlationId: 'one' });
    expect(await handle.outcome()).toMatchObject({ status: 'completed', results: { charge: 'paid' } });
    expect(effects).toEqual(['reserve 1', 'charge 1', 'ship 1']);
    const again = await sagas.start(OrderSaga, { n: 1 }, { correlationId: 'one' });
    expect([again.created, again.id]).toEqual([false, handle.id]);
    expect(await sagas.find({ saga: OrderSaga })).toMatchObject({ items: [{ id: handle.id }] });
  });

  test('a step that fails is retried, and what completed before one that is rejected is compensated', async () => {
    const { sagas } = await application();
    const retried = await sagas.start(OrderSaga, { n: 2, fails: 'once' });
    expect(await retried.outcome()).toMatchObject({ status: 'completed' });
    const rejected = await sagas.start(OrderSaga, { n: 3, fails: 'for good' });
    expect(await rejected.outcome()).toMatchObject({ status: 'compensated' });
    expect(effects).toEqual([
      ...['reserve 2', 'charge 2', 'charge 2', 'ship 2'],
      ...['reserve 3', 'charge 3', 'release 3 3'],
    ]);
  });

  test('a saga waits for times, signals, approvals and sub-sagas', async () => {
    const { sagas } = await application();
    const delayed = await sagas.start(DelayedSaga, undefined);
    const parent = await sagas.start(ParentSaga, undefined);
    const waiting = await sagas.start(WaitingSaga, undefined);
    await sagas.signal(waiting.id, 'paid', { amount: 20 });
    await until(async () => (await sagas.tasks({ saga: WaitingSaga })).items.length === 1);
    await sagas.approve(waiting.id, 'approve', { by: 'ann' });
    expect(await waiting.outcome()).toMatchObject({
      status: 'completed',
      results: { paid: 20, approve: 'ann' },
    });
    expect(await parent.outcome()).toMatchObject({
      status: 'completed',
      results: { delegate: { work: 42 } },
    });
    expect(await delayed.outcome()).toMatchObject({ status: 'completed' });
  });

  test('a saga that is cancelled while it waits, or runs, is compensated', async () => {
    const { sagas } = await application();
    const waiting = await sagas.start(WaitingSaga, undefined);
    await sagas.cancel(waiting.id, { reason: 'changed my mind' });
    expect(await waiting.outcome()).toMatchObject({ status: 'compensated' });
    const slow = await sagas.start(SlowSaga, undefined);
    await until(() => effects.includes('second'));
    await sagas.cancel(slow.id);
    gate.open();
    expect(await slow.outcome()).toMatchObject({ status: 'compensated' });
  });

  test('operators pause, resume and read the history', async () => {
    const { sagas, operations } = await application();
    const handle = await sagas.start(WaitingSaga, undefined);
    const { id } = handle;
    await operations.pause(id, { by: 'ops' });
    await until(async () => (await sagas.get(id))?.status === 'paused');
    await operations.resume(id, { by: 'ops' });
    await sagas.signal(id, 'paid', { amount: 1 });
    await sagas.approve(id, 'approve', { by: 'ann' });
    await handle.outcome();
    expect(await operations.history(id)).toMatchObject([
      { action: 'pause', by: 'ops' },
      { action: 'resume', by: 'ops' },
      { action: 'signal', signal: 'paid' },
      { action: 'approve', by: 'ann' },
    ]);
  });

  test('sagas come to rest before a paused step, and go on when it is resumed in another process', async () => {
    const other = await application({}, ALL, await freePort());
    // Restate calls the process that was registered last.
    const { sagas, operations } = await application();
    await operations.pauseStep(OrderSaga, 'charge', { by: 'ops', reason: 'down' });
    const handles = [await sagas.start(OrderSaga, { n: 7 }), await sagas.start(OrderSaga, { n: 8 })];
    for (const { id } of handles)
      await until(async () => (await sagas.get(id)).waitingFor?.kind === 'paused-step');
    expect(effects.filter((effect) => effect.startsWith('charge'))).toEqual([]);
    await other.operations.resumeStep(OrderSaga, 'charge', { by: 'ops' });
    for (const handle of handles) expect(await handle.outcome()).toMatchObject({ status: 'completed' });
    expect((await operations.pausedSteps({ resumed: 1 })).items).toMatchObject([{ resumed: { by: 'ops' } }]);
  });

  test('steps of all sagas in two processes keep their limit, and their rate', async () => {
    const processes = [await application({}, ALL, await freePort()), await application()];
    const begun = performance.now();
    const handles = await Promise.all(
      Array.from({ length: 9 }, (_, n) => processes[n % 2]!.sagas.start(LimitedSaga, undefined)),
    );
    for (const handle of handles) expect(await handle.outcome()).toMatchObject({ status: 'completed' });
    expect(attempts.most).toBeLessThanOrEqual(2);
    const { at } = attempts;
    expect(at).toHaveLength(9);
    // Each may be late, but not early: three in a window.
    for (const [n, time] of at.toSorted((a, b) => a - b).entries())
      expect(time - begun).toBeGreaterThan(500 * Math.floor(n / 3) - 10);
  });

  test('a deploy moves waiting sagas to the new version, also those that an old process starts beside it, and keeps others', async () => {
    const old = await application({}, [OldParcelSaga]);
    const waiting = await old.sagas.start(OldParcelSaga, undefined);
    const shipped = await old.sagas.start(OldParcelSaga, undefined);
    await old.sagas.signal(shipped.id, 'paid');
    await until(async () => (await old.sagas.get(shipped.id)).step === 'delivered');
    const next = await application({}, [OldParcelSaga, ParcelSaga], await freePort());
    const late = await old.sagas.start(OldParcelSaga, undefined);
    const moved = [waiting, late];
    for (const { id } of moved) await until(async () => (await next.sagas.get(id)).version === 2);
    await close(old.nest);
    for (const { id } of moved) await next.sagas.signal(id, 'paid');
    for (const { id } of [...moved, shipped]) {
      await next.sagas.signal(id, 'delivered');
      expect(await next.sagas.wait(id)).toMatchObject({ status: 'completed' });
    }
    expect(effects.toSorted()).toEqual(moved.map(({ id }) => `pack ${id}`).toSorted());
    expect((await next.sagas.get(shipped.id)).version).toBe(1);
  });

  test('a saga goes on after the server was killed, and in the next process after its own has gone', async () => {
    // A third of it is no whole number of milliseconds.
    const lease = '3001ms';
    const first = await application({ worker: { lease, shutdownTimeout: '10ms' } });
    const slow = await first.sagas.start(SlowSaga, undefined);
    await until(() => effects.includes('second'));
    await server.kill();
    await server.restart();
    await close(first.nest);
    // The first may have found no server to give the saga back to: then it is offered when the lease ends.
    await until(() => isOfferedSoon(slow.id));
    gate.open();
    const second = await application({ worker: { lease } });
    await until(async () => (await second.sagas.get(slow.id))?.status === 'completed');
    expect(effects.filter((effect) => effect === 'first')).toHaveLength(1);
  });

  test('calls that no process answers are made again each second, for ever, and what is over takes no room', async () => {
    await application();
    const { services } = (await (await fetch(new URL('/services', server.admin))).json()) as {
      services: { name: string }[];
    };
    expect(services.length).toBeGreaterThanOrEqual(6);
    for (const service of services)
      expect(service).toMatchObject({
        retry_policy: { max_interval: '1s', max_attempts: Number.MAX_SAFE_INTEGER },
        journal_retention: '0s',
        idempotency_retention: '1m',
      });
  });

  test('what steps publish is sent in its order, however often the broker refuses it, and encoded until then', async () => {
    const broker = new Broker(3);
    const codec = new AesGcmCodec({ keys: { k1: Buffer.alloc(32, 1) }, current: 'k1' });
    const { nest, sagas } = await application({ codec }, ALL, port, { transport: broker });
    const { id, outcome } = await sagas.start(PublishingSaga, { card: '4711-0815-2342' });
    expect(await outcome()).toMatchObject({ status: 'completed' });
    const [stored] = await server.query(
      `SELECT count(*) AS n FROM state WHERE value_utf8 LIKE '%4711-0815-2342%'`,
    );
    expect(stored).toEqual({ n: 0 });
    await until(() => broker.taken.length === 3);
    const [placed] = broker.taken;
    expect(broker.taken.map(({ type }) => type)).toEqual(['placed', 'paid', 'shipped']);
    expect(placed).toMatchObject({
      ...{ topic: 'orders', key: id, payload: '{"card":"4711-0815-2342"}' },
      headers: { 'saga-id': id, id: placed!.id, type: 'placed', key: id, traceparent: expect.any(String) },
    });
    await close(nest);
    expect(broker.isClosed).toBe(true);
  });

  test('messages of a key wait for one that is refused, are counted, and go on in the next process', async () => {
    const broker = new Broker(Infinity);
    const first = await application({}, ALL, port, { transport: broker });
    expect(await (await first.sagas.start(PublishingSaga, undefined)).outcome()).toMatchObject({
      status: 'completed',
    });
    const { outbox } = await first.operations.stats();
    expect(outbox).toMatchObject({ waiting: 3, oldest: expect.any(Date) });
    await close(first.nest);
    const next = new Broker(0);
    const second = await application({}, ALL, port, { transport: next });
    await until(() => next.taken.length === 3);
    expect(next.taken.map(({ type }) => type)).toEqual(['placed', 'paid', 'shipped']);
    await until(async () => (await second.operations.stats()).outbox.waiting === 0);
  });

  test('a step that publishes a message fails if there is no broker, since no message would be sent', async () => {
    const { sagas } = await application();
    const handle = await sagas.start(PublishingSaga, undefined);
    expect(await handle.outcome()).toMatchObject({
      status: 'compensated',
      failure: {
        step: 'tell',
        error: {
          message: expect.stringContaining('ctx.publish() needs a broker; give restateEngine() a transport'),
        },
      },
    });
  });

  test('sagas of one key in two processes run one after the other, in the order in which they were started', async () => {
    const processes = [await application({}, ALL, await freePort()), await application()];
    const handles = [];
    for (let n = 0; n < 12; n += 1)
      handles.push(await processes[n % 2]!.sagas.start(AccountSaga, { key: `k${n % 3}` }));
    const outcomes = await Promise.all(handles.map((handle) => handle.outcome()));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(12).fill('completed'));
    expect(worked.splice(0).toSorted()).toEqual(
      ['k0 1', 'k1 1', 'k2 1'].flatMap((one) => Array<string>(4).fill(one)),
    );
    const ended = await Promise.all(
      handles.map(async ({ id }) => (await processes[0]!.sagas.get(id)).updatedAt.getTime()),
    );
    for (const n of ended.keys()) if (n >= 3) expect(ended[n]).toBeGreaterThan(ended[n - 3]!);
  });

  test('sagas of each key in two processes keep their limit, and all of them end', async () => {
    const processes = [await application({}, ALL, await freePort()), await application()];
    const handles = await Promise.all(
      Array.from({ length: 18 }, (_, n) =>
        processes[n % 2]!.sagas.start(ScarceSaga, { tenant: `t${n % 3}` }),
      ),
    );
    for (const handle of handles) expect(await handle.outcome()).toMatchObject({ status: 'completed' });
    expect(running.most).toBe(2);
  });

  test('a circle of locks that closes in two processes at once is broken', async () => {
    gate = new Gate();
    const processes = [await application({}, ALL, await freePort()), await application()];
    const pairs = Array.from({ length: 6 }, (_, n) => [`a${n}`, `b${n}`] as const);
    const handles = await Promise.all(
      pairs.flatMap(([a, b]) => [
        processes[0]!.sagas.start(AccountSaga, { key: a, then: b }),
        processes[1]!.sagas.start(AccountSaga, { key: b, then: a }),
      ]),
    );
    await until(() => worked.length === 2 * pairs.length);
    gate.open();
    const outcomes = await Promise.all(handles.map((handle) => handle.outcome()));
    for (const n of pairs.keys()) {
      const both = outcomes.slice(2 * n, 2 * n + 2);
      expect(both.map(({ status }) => status).toSorted()).toEqual(['compensated', 'completed']);
      expect(both.find(({ status }) => status === 'compensated')!.failure?.error?.message).toMatch(/lock/);
    }
  });

  test('an application with a new saga starts, although Restate does not answer what it asks first', async () => {
    @Saga({ name: 'new' })
    class NewSaga {
      @Step() work() {}
    }
    let queries = 0;
    const proxy = createServer((request, response) => {
      // It may have no leader for the partition yet.
      if (request.url === '/query' && (queries += 1) === 1) return;
      const { url = '', method = 'GET', headers } = request;
      void text(request).then(async (body) => {
        const answer = await fetch(new URL(url, server.admin), {
          method,
          headers: { 'content-type': 'application/json', accept: headers.accept ?? '*/*' },
          ...(body && { body }),
        });
        response.writeHead(answer.status).end(await answer.text());
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, resolve));
    const admin = `http://localhost:${(proxy.address() as AddressInfo).port}`;
    const { nest, sagas } = await application({ worker: { lease: '3s' } }, [NewSaga], port, { admin });
    expect(await (await sagas.start(NewSaga, undefined)).outcome()).toMatchObject({ status: 'completed' });
    await close(nest);
    proxy.close();
    proxy.closeAllConnections();
    expect(queries).toBeGreaterThan(1);
  });

  test('a process serves Restate at one address of its machine', async () => {
    const given = { host: '127.0.0.1', address: `http://127.0.0.1:${port}` };
    const { sagas } = await application({}, ALL, port, given);
    expect(await (await sagas.start(OrderSaga, { n: 40 })).outcome()).toMatchObject({ status: 'completed' });
    expect(() => restateEngine({ ingress: 'x', admin: server.admin, identityKeys: ['secret'] })).toThrow(
      /ingress .*identityKeys/s,
    );
  });

  test('a process whose clock is wrong does not start, and says by how much', async () => {
    const { now } = Date;
    try {
      for (const [hour, difference] of [
        // Restate's answer has whole seconds.
        [3_600_000, /^The clock of this process is 360\d s ahead of the clock of Restate\./],
        [-3_600_000, /^The clock of this process is (3599|3600) s behind the clock of Restate\./],
      ] as const) {
        Date.now = () => now() + hour;
        const started = application();
        await expect(started).rejects.toThrow(difference);
      }
    } finally {
      Date.now = now;
    }
  });

  test('what Restate cannot keep is refused at start-up, by name', async () => {
    await expect(application({}, [RelaxedSaga])).rejects.toThrow(
      "Restate cannot keep everything that these sagas have: saga 'written@1' has durability: 'relaxed'.",
    );
    await expect(application({ readFrom: 'a' })).rejects.toThrow('engine and readFrom are both set');
  });
});
