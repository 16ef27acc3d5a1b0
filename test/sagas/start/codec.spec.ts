import { randomBytes, randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import {
  Approval,
  type ApprovalDecision,
  type CompensationContext,
  Saga,
  SagaApprovalPendingError,
  SagaConfigurationError,
  SagaConflictError,
  type SagaModuleOptions,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { AesGcmCodec, type PayloadCodec } from '../../../libs/saga/src/encryption.js';
import { Outbox, SagaMessagingModule } from '../../../libs/messaging/src/index.js';
import { MemoryBroker } from '../../messaging/support/memory-broker.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const old = new AesGcmCodec({ keys: { '2026-01': OLD }, current: '2026-01' });
const rotated = new AesGcmCodec({ keys: { '2026-01': OLD, '2026-02': NEW }, current: '2026-02' });

/** Nothing else contains it, in any encoding. */
const SECRET = `marker${randomUUID().replaceAll('-', '')}`;

interface Order {
  card: string;
  lines: string[];
}

@Saga({ name: 'parcel' })
class ParcelSaga {
  @Step() label(ctx: StepContext<{ to: string }>) {
    return { label: `to ${ctx.input.to}` };
  }
}

@Saga({ name: 'order' })
class OrderSaga {
  @Step({ retry: { attempts: 2, delay: 1 } })
  check(ctx: StepContext<Order>) {
    if (ctx.attempt === 1)
      throw new Error(`declined ${SECRET}`, { cause: new Error(`by the bank of ${SECRET}`) });
    ctx.publish({ topic: 'checked', key: 'k', payload: { card: ctx.input.card } });
    return { card: ctx.input.card };
  }

  @Step({ forEach: (ctx: StepContext<Order>) => ctx.input.lines, compensate: 'unpack' })
  pack(ctx: StepContext<Order>) {
    return { packed: ctx.item };
  }
  unpack(ctx: CompensationContext<Order, { packed: unknown }>) {
    ctx.publish({ topic: 'unpacked', payload: ctx.result });
  }

  @WaitFor({ signal: 'reply', retry: { attempts: 2, delay: 1 } })
  reply(ctx: StepContext<Order>, payload: { text: string }) {
    if (ctx.attempt === 1) throw new Error('once more');
    return payload.text;
  }

  @Approval() release(_ctx: StepContext<Order>, decision: ApprovalDecision) {
    return decision.comment;
  }

  @SubSaga(() => ParcelSaga) parcel(ctx: StepContext<Order>) {
    return { to: ctx.input.card };
  }

  @Step() end(): void {
    throw new StepRejectedError(`no more ${SECRET}`);
  }
}

const ORDER: Order = { card: SECRET, lines: [`a ${SECRET}`, `b ${SECRET}`] };

/** All that is in the schema, as text. */
async function everything(): Promise<string> {
  const tables = await apps.sql<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'saga'`,
  );
  const rows: string[] = [];
  for (const { name } of tables)
    for (const { row } of await apps.sql<{ row: string }>(`SELECT t::text AS row FROM saga.${name} t`))
      rows.push(`${name} ${row}`);
  return rows.join('\n');
}

const waitsFor = async (app: Awaited<ReturnType<typeof apps.start>>, id: string, kind: string) =>
  until(async () => (await app.sagas.get(id)).waitingFor?.kind === kind);

const withCodec = (codec: PayloadCodec | undefined, options: SagaModuleOptions = {}) => ({
  sagas: [OrderSaga, ParcelSaga],
  options: { codec, ...options },
});

describe('a saga whose payloads are encrypted', () => {
  test('leaves no word of what it was given and gave in any table, and is what it is without', async () => {
    const outbox = SagaMessagingModule.forRoot({ relay: false });
    const app = await apps.start({ ...withCodec(rotated), imports: [outbox] });
    const saga = await app.sagas.start(OrderSaga, ORDER);
    await waitsFor(app, saga.id, 'signal');
    expect(await everything()).not.toContain(SECRET);
    await app.sagas.signal(saga.id, 'reply', { text: `yes ${SECRET}` });
    await waitsFor(app, saga.id, 'approval');
    await app.sagas.approve(saga.id, 'release', { by: 'ann', comment: `checked ${SECRET}` });
    expect(await saga.outcome()).toEqual({
      id: saga.id,
      status: 'compensated',
      results: {
        check: { card: SECRET },
        reply: `yes ${SECRET}`,
        release: `checked ${SECRET}`,
      },
      failure: {
        ...{ kind: 'rejected', step: 'end' },
        error: expect.objectContaining({ message: `no more ${SECRET}`, stack: expect.any(String) }),
      },
    });
    const asked = await app.sagas.start(OrderSaga, ORDER);
    await waitsFor(app, asked.id, 'signal');
    await app.sagas.cancel(asked.id, { reason: `because of ${SECRET}` });
    expect((await asked.outcome()).failure).toMatchObject({ reason: `because of ${SECRET}` });
    await app.dataSource.transaction((manager) =>
      app.nest.get(Outbox).publish(manager, { topic: 'own', payload: SECRET }),
    );

    const stored = await everything();
    expect(stored).not.toContain(SECRET);
    for (const encoding of ['base64', 'hex', 'base64url'] as const)
      expect(stored).not.toContain(Buffer.from(SECRET).toString(encoding).slice(0, -4));
    for (const table of ['instance', 'step', 'signal', 'outbox'])
      expect(stored).toMatch(new RegExp(`^${table} .*saga:coded:1\\.2026-02\\.`, 'm'));

    const seen = await app.sagas.get(saga.id);
    expect(seen.input).toEqual(ORDER);
    expect(seen.steps.find(({ name }) => name === 'check')!.errors).toMatchObject([
      { message: `declined ${SECRET}`, cause: { message: `by the bank of ${SECRET}` }, name: 'Error' },
    ]);
    expect(seen.steps.find(({ name }) => name === 'pack')!.items).toHaveLength(2);
    const { items } = await app.sagas.find({ saga: OrderSaga });
    expect(items.map(({ error }) => error)).toContain(`no more ${SECRET}`);
  });

  test('is known again by its input, and conflicts with another', async () => {
    const app = await apps.start(withCodec(old, { worker: false }));
    const given = { correlationId: 'o-1' };
    const first = await app.sagas.start(OrderSaga, ORDER, given);
    const next = await apps.start(withCodec(rotated, { worker: false }));
    const again = await next.sagas.start(OrderSaga, { lines: ORDER.lines, card: ORDER.card }, given);
    expect(again).toMatchObject({ id: first.id, created: false });
    await expect(next.sagas.start(OrderSaga, { ...ORDER, lines: [] }, given)).rejects.toThrow(
      SagaConflictError,
    );
    const keyless = await apps.start(withCodec(undefined, { worker: false }));
    await expect(keyless.sagas.start(OrderSaga, ORDER, given)).rejects.toMatchObject({
      ...{ code: 'SAGA_CODEC', sagaId: first.id },
    });
  });

  test('goes on over a change of keys, and over the day on which there was none', async () => {
    const plain = await apps.start(withCodec(undefined));
    const saga = await plain.sagas.start(ParcelSaga, { to: SECRET }, { delay: '1h' });
    await plain.close();
    await apps.sql(`UPDATE saga.instance SET starts_at = NULL, due_at = now(), rank_at = now()`);
    const app = await apps.start(withCodec(rotated));
    expect(await app.sagas.wait(saga.id)).toMatchObject({ results: { label: { label: `to ${SECRET}` } } });
    const steps = await apps.sql<{ result: string }>('SELECT result FROM saga.step');
    expect(steps).toEqual([{ result: expect.stringMatching(/^saga:coded:1\.2026-02\./) }]);
  });
});

describe('a worker without the key', () => {
  const { error } = Logger.prototype;
  let errors: string[] = [];
  beforeEach(() => {
    errors = [];
    Logger.prototype.error = (message: string) => void errors.push(message);
  });
  afterEach(() => void (Logger.prototype.error = error));

  test.each([
    ['but with another', old, "the key '2026-02' is not configured; configured keys: 2026-01"],
    ['and without a codec', undefined, 'is encoded, but this process has no codec'],
  ])('%s runs the other sagas, and leaves this one to those who have it', async (_, codec, problem) => {
    const options = { worker: { lease: '1s', pollInterval: '20ms' } } as const;
    const author = await apps.start(withCodec(rotated, { worker: false }));
    const theirs = await author.sagas.start(ParcelSaga, { to: SECRET });
    const app = await apps.start(withCodec(codec, options));
    await until(() => errors.some((message) => message.includes(problem)));
    expect(errors.join('\n')).toContain(theirs.id);
    const mine = await app.sagas.start(ParcelSaga, { to: 'me' });
    expect(await mine.outcome()).toMatchObject({ status: 'completed' });
    // Given back for the time of a lease, as if it had not been taken.
    const [row] = await apps.sql(
      'SELECT locked_by, takeovers, checkpoints FROM saga.instance WHERE id = $1',
      [theirs.id],
    );
    expect(row).toEqual({ locked_by: null, takeovers: 0, checkpoints: 0 });
    const keeper = await apps.start(withCodec(rotated, options));
    expect(await keeper.sagas.wait(theirs.id)).toMatchObject({
      ...{ status: 'completed', results: { label: { label: `to ${SECRET}` } } },
    });
    if (codec) {
      const missing = { code: 'SAGA_CODEC', sagaId: theirs.id, keyId: '2026-02' };
      await expect(app.sagas.get(theirs.id)).rejects.toMatchObject(missing);
      await expect(app.sagas.wait(theirs.id)).rejects.toMatchObject(missing);
      await expect(theirs.outcome()).resolves.toMatchObject({ status: 'completed' });
    } else {
      expect((await app.sagas.get(theirs.id)).input).toMatch(/^saga:coded:1\.2026-02\./);
    }
  });

  test('gives a parent back whose child it cannot read, and counts nothing against it', async () => {
    @Saga({ name: 'outer' })
    class OuterSaga {
      @SubSaga(() => ParcelSaga) parcel(_ctx: StepContext) {
        return { to: SECRET };
      }
    }
    const sagas = [OuterSaga, ParcelSaga];
    // A process with an old key starts the parent, and one with the new key runs its child.
    const first = await apps.start({
      sagas,
      options: { codec: old, worker: { lease: '1s', pollInterval: '20ms', sagas: [OuterSaga] } },
    });
    const outer = await first.sagas.start(OuterSaga, undefined);
    await waitsFor(first, outer.id, 'sub-saga');
    const second = await apps.start({ sagas, options: { codec: rotated, worker: { sagas: [ParcelSaga] } } });
    await until(() => errors.some((message) => /outer.*is released/.test(message)));
    const [row] = await apps.sql('SELECT takeovers, losses, status FROM saga.instance WHERE id = $1', [
      outer.id,
    ]);
    expect(row).toEqual({ takeovers: 0, losses: 0, status: 'running' });
    await second.close();
    const third = await apps.start({ sagas, options: { codec: rotated, worker: { pollInterval: '20ms' } } });
    expect(await third.sagas.wait(outer.id)).toMatchObject({ status: 'completed' });
  });
});

describe('an operator in a process without the codec', () => {
  const decisions: ApprovalDecision[] = [];
  beforeEach(() => void (decisions.length = 0));

  @Saga({ name: 'loan' })
  class LoanSaga {
    @Approval({ quorum: 3, timeout: '1d' }) grant(_ctx: StepContext, decision: ApprovalDecision) {
      decisions.push(decision);
      return decision.approvals?.map(({ comment = '' }) => comment);
    }
  }

  @Saga({ name: 'letter' })
  class LetterSaga {
    @WaitFor({ signal: 'answer', timeout: '1d' }) answer(_ctx: StepContext, payload: { text: string }) {
      return payload.text;
    }
  }

  @Saga({ name: 'payout', onFailure: 'suspend' })
  class PayoutSaga {
    @Step() pay(): { amount: number } {
      throw new StepRejectedError('too much');
    }
  }

  const all = (codec: PayloadCodec | undefined, worker: SagaModuleOptions['worker']) =>
    apps.start({
      sagas: [LoanSaga, LetterSaga, PayoutSaga],
      options: { codec, worker, approvals: { resolve: 2 } },
    });
  const refused = (sagaId: string): unknown =>
    expect.objectContaining({
      ...{ code: 'SAGA_CODEC', sagaId },
      message: expect.stringMatching(
        /is encoded, but this process has no codec.* in a process that has it\.$/,
      ),
    });

  test('adds an approval to encoded ones, and cannot make the last, which gives all comments to the step', async () => {
    const keeper = await all(rotated, { pollInterval: '20ms' });
    const plain = await all(undefined, false);
    const { id, outcome } = await keeper.sagas.start(LoanSaga, undefined);
    await waitsFor(keeper, id, 'approval');
    await keeper.sagas.approve(id, 'grant', { by: 'ann', comment: `checked ${SECRET}` });
    await plain.sagas.approve(id, 'grant', { by: 'bob' });
    await expect(plain.sagas.approve(id, 'grant', { by: 'eve' })).rejects.toEqual(refused(id));
    expect(await plain.operations.history(id)).toHaveLength(2);
    await keeper.sagas.approve(id, 'grant', { by: 'eve' });
    expect((await outcome()).results).toEqual({ grant: [`checked ${SECRET}`, '', ''] });
    expect(JSON.stringify(decisions)).not.toContain('saga:coded');
  });

  test.each([
    ['an approval is not taken for a rejection', LoanSaga, 'approval', 'grant'],
    ['a signal is not moved to a place where it cannot be decoded', LetterSaga, 'signal', 'answer'],
  ] as const)('changes nothing that would read what is encoded: %s', async (_, type, kind, step) => {
    const worker = await all(rotated, { pollInterval: '20ms' });
    const { id } = await worker.sagas.start<LoanSaga | LetterSaga>(type, undefined);
    await waitsFor(worker, id, kind);
    await worker.close();
    const [author, plain] = [await all(rotated, false), await all(undefined, false)];
    if (type === LetterSaga) await author.sagas.signal(id, 'answer', { text: SECRET });
    else
      for (const by of ['ann', 'bob', 'eve'])
        await author.sagas.approve(id, 'grant', { by, comment: SECRET });
    await expect(plain.operations.reschedule(id, step, '2d')).rejects.toEqual(refused(id));
    const { failed, matched } = await plain.operations.bulk('cancel', {}, { by: 'ann' });
    expect([matched, failed]).toEqual([1, []]);
    expect(await author.operations.history(id)).toContainEqual(expect.objectContaining({ action: 'cancel' }));
  });

  test('cannot be the second one for a call whose result is encoded', async () => {
    const keeper = await all(rotated, { pollInterval: '20ms' });
    const plain = await all(undefined, false);
    const { id, outcome } = await keeper.sagas.start(PayoutSaga, undefined);
    expect((await outcome()).status).toBe('suspended');
    const resolve = ({ operations }: typeof plain, by: string) =>
      operations.resolve(id, 'pay', { by, result: { amount: 10 } });
    await expect(resolve(keeper, 'ann')).rejects.toThrow(SagaApprovalPendingError);
    await expect(resolve(plain, 'bob')).rejects.toEqual(refused(id));
    await resolve(keeper, 'bob');
    expect((await keeper.sagas.wait(id)).results).toEqual({ pay: { amount: 10 } });
  });

  test('has one such saga refused in bulk, and the others done', async () => {
    const keeper = await all(rotated, { pollInterval: '20ms' });
    const { id } = await keeper.sagas.start(PayoutSaga, undefined);
    await keeper.sagas.wait(id);
    const stranger = await all(old, false);
    const own = await stranger.sagas.start(PayoutSaga, undefined, { delay: '1h' });
    const { done, failed } = await stranger.operations.bulk('cancel', {});
    expect([done, failed]).toEqual([1, [expect.objectContaining({ id, code: 'SAGA_CODEC' })]]);
    expect((await stranger.sagas.get(own.id)).status).toBe('compensated');
  });
});

describe('a cancellation whose reason a worker cannot decode', () => {
  test('rolls the saga back without it, and the history has it', async () => {
    const [begun, going] = [new Gate<void>(), new Gate<void>()];
    const seen: unknown[] = [];
    @Saga({ name: 'slow' })
    class SlowSaga {
      @Step({ compensate: 'unbook' }) book() {}
      unbook({ failure }: CompensationContext) {
        seen.push(failure);
      }
      @Step() async ride() {
        begun.open();
        await going.opened;
      }
    }
    const sagas = [SlowSaga];
    const plain = await apps.start({ sagas, options: { worker: { pollInterval: '20ms', lease: '1s' } } });
    const keeper = await apps.start({ sagas, options: { codec: rotated, worker: false } });
    const { id, outcome } = await plain.sagas.start(SlowSaga, undefined);
    await begun.opened;
    await keeper.sagas.cancel(id, { by: 'ann', reason: SECRET });
    going.open();
    expect((await outcome()).status).toBe('compensated');
    expect(seen).toEqual([{ kind: 'cancelled' }]);
    expect(await keeper.operations.history(id)).toMatchObject([{ action: 'cancel', reason: SECRET }]);
  });
});

describe('a step whose result cannot be encoded', () => {
  test.each([[false], [true]])(
    'has not failed: it is done again by who can (transactional: %s)',
    async (transactional) => {
      let isLocked = true;
      const codec: PayloadCodec = {
        encode: (text, context) => {
          if (isLocked && context.kind === 'result') throw new Error('the keys are locked away');
          return rotated.encode(text, context);
        },
        decode: (text, context) => rotated.decode(text, context),
      };
      const runs: number[] = [];
      @Saga({ name: 'locked' })
      class LockedSaga {
        @Step({ transactional, retry: { attempts: 1 } }) work(ctx: StepContext) {
          runs.push(ctx.attempt);
          if (runs.length > 1) isLocked = false;
          return 'done';
        }
      }
      const app = await apps.start({
        sagas: [LockedSaga],
        options: { codec, worker: { lease: '2s', pollInterval: '20ms' } },
      });
      const saga = await app.sagas.start(LockedSaga, undefined);
      expect(await saga.outcome()).toMatchObject({ status: 'completed', results: { work: 'done' } });
      expect(runs).toHaveLength(2);
    },
  );
});

describe('messages of encrypted sagas', () => {
  const started = (broker: MemoryBroker, codec?: PayloadCodec, own?: PayloadCodec) =>
    apps.start({
      ...withCodec(codec),
      imports: [
        SagaMessagingModule.forRoot({ transport: broker, codec: own, relay: { retry: { attempts: 1 } } }),
      ],
    });

  test('are sent as they were published: by steps and in transactions', async () => {
    const broker = new MemoryBroker();
    const app = await started(broker, rotated);
    await app.sagas.start(OrderSaga, ORDER);
    await app.dataSource.transaction((manager) =>
      app.nest.get(Outbox).publish(manager, { topic: 'own', key: 'k', payload: { card: SECRET } }),
    );
    await until(() => broker.taken.length === 2);
    for (const { payload } of broker.taken) expect(JSON.parse(payload)).toEqual({ card: SECRET });
  });

  test('that a relay cannot decode are dead in the end, seen as they are stored, and sent once they can be', async () => {
    const publisher = await apps.start({
      ...withCodec(rotated),
      imports: [SagaMessagingModule.forRoot({ relay: false })],
    });
    const broker = new MemoryBroker();
    const relay = await started(broker, old);
    const publish = (codec: PayloadCodec, topic: string) =>
      (codec === old ? relay : publisher).dataSource.transaction((manager) =>
        (codec === old ? relay : publisher).nest
          .get(Outbox)
          .publish(manager, { topic, key: 'k', payload: SECRET }),
      );
    await publish(rotated, 'theirs');
    await publish(old, 'mine');
    await until(() => broker.taken.length === 1);
    expect(broker.taken[0]).toMatchObject({ topic: 'mine', payload: JSON.stringify(SECRET) });
    const [dead] = await until(async () => {
      const { items } = await relay.nest.get(Outbox).dead();
      return items.length > 0 ? items : undefined;
    });
    expect(dead).toMatchObject({
      ...{ topic: 'theirs', payload: expect.stringMatching(/^saga:coded:1\.2026-02\./) },
      error: expect.stringContaining("the key '2026-02' is not configured"),
    });
    await relay.close();
    const next = await started(broker, rotated);
    await next.nest.get(Outbox).requeue([dead!.id]);
    await until(() => broker.taken.length === 2);
    expect(JSON.parse(broker.taken[1]!.payload)).toBe(SECRET);
  });

  test('stay readable in the outbox where a codec leaves them as they are', async () => {
    const leaving: PayloadCodec = {
      encode: (text, context) => (context.kind === 'message' ? undefined : rotated.encode(text, context)),
      decode: (text, context) => rotated.decode(text, context),
    };
    const app = await apps.start({
      ...withCodec(leaving),
      imports: [SagaMessagingModule.forRoot({ relay: false })],
    });
    const saga = await app.sagas.start(OrderSaga, ORDER);
    await waitsFor(app, saga.id, 'signal');
    expect(await apps.sql('SELECT payload FROM saga.outbox')).toEqual([{ payload: { card: SECRET } }]);
    expect(await apps.sql('SELECT input FROM saga.instance')).toEqual([
      { input: expect.stringMatching(/^saga:coded:/) },
    ]);
  });

  test('have one codec: two are refused at start-up', async () => {
    const broker = new MemoryBroker();
    await expect(started(broker, rotated, old)).rejects.toThrow(SagaConfigurationError);
    await (await started(broker, rotated, rotated)).close();
    await (await started(broker, undefined, rotated)).close();
  });
});

test.each([[{}], ['aes'], [null], [{ encode: () => '' }]])(
  'a codec %p is refused at start-up',
  async (codec) => {
    const start = apps.start({ options: { codec: codec as PayloadCodec } });
    await expect(start).rejects.toThrow(/codec is .*; give an object with encode\(\) and decode\(\)/);
  },
);
