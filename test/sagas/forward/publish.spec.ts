import {
  type CompensationContext,
  Saga,
  SagaPayloadError,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  type TransactionalStepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

interface OutboxRow {
  aggregatetype: string;
  aggregateid: string;
  type: string;
  payload: unknown;
  headers: Record<string, string>;
}

function outbox(): Promise<OutboxRow[]> {
  return apps.sql<OutboxRow>(
    'SELECT aggregatetype, aggregateid, type, payload, headers FROM saga.outbox ORDER BY seq',
  );
}

async function payloads(): Promise<unknown[]> {
  return (await outbox()).map(({ payload }) => payload);
}

/** What a test has a step do, beyond publishing. */
let then: (ctx: StepContext) => unknown;
beforeEach(() => {
  then = () => undefined;
});

@Saga({ name: 'order', retry: { attempts: 3, delay: 1 } })
class OrderSaga {
  @Step({ compensate: 'release' }) async request(ctx: StepContext<{ amount: number }>) {
    ctx.publish({ topic: 'customer.commands', type: 'reserve', payload: { amount: ctx.input.amount } });
    ctx.publish({ topic: 'audit', payload: 'requested', key: 'all', headers: { tenant: 'a' } });
    await then(ctx);
  }
  async release(ctx: CompensationContext<{ amount: number }>) {
    ctx.publish({ topic: 'customer.commands', type: 'release', payload: { amount: ctx.input.amount } });
  }
  @Step() end() {
    if (then(undefined as never) === 'fail') throw new StepRejectedError('no');
  }
}

describe('What a step publishes', () => {
  test('is in the outbox once the step is done, as outbox event routers read it', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga] });
    const saga = await sagas.start(OrderSaga, { amount: 300 });
    await saga.outcome();
    const trace = saga.id.replaceAll('-', '');
    const own = { 'saga-id': saga.id, traceparent: expect.stringMatching(`^00-${trace}-[0-9a-f]{16}-01$`) };
    expect(await outbox()).toEqual([
      {
        aggregatetype: 'customer.commands',
        aggregateid: saga.id,
        type: 'reserve',
        payload: { amount: 300 },
        headers: own,
      },
      {
        aggregatetype: 'audit',
        aggregateid: 'all',
        type: 'audit',
        payload: 'requested',
        headers: { ...own, tenant: 'a' },
      },
    ]);
  });

  test('is not sent by an attempt that failed', async () => {
    then = (ctx) => {
      if (ctx?.attempt < 3) throw new Error('not now');
    };
    const { sagas } = await apps.start({ sagas: [OrderSaga] });
    await (await sagas.start(OrderSaga, { amount: 300 })).outcome();
    expect(await payloads()).toEqual([{ amount: 300 }, 'requested']);
  });

  test('is not sent by a step that failed permanently', async () => {
    then = () => {
      throw new StepRejectedError('no');
    };
    const { sagas } = await apps.start({ sagas: [OrderSaga] });
    expect((await (await sagas.start(OrderSaga, { amount: 1 })).outcome()).status).toBe('compensated');
    expect(await payloads()).toEqual([]);
  });

  test('is not sent by a step whose result cannot be stored', async () => {
    @Saga({ name: 'unstorable', retry: { attempts: 1 } })
    class UnstorableSaga {
      @Step() request(ctx: StepContext) {
        ctx.publish({ topic: 'a', payload: 1 });
        return { big: 1n as unknown };
      }
    }
    const { sagas } = await apps.start({ sagas: [UnstorableSaga] });
    await (await sagas.start(UnstorableSaga, undefined)).outcome();
    expect(await payloads()).toEqual([]);
  });

  test('is sent by its compensation, too', async () => {
    then = (ctx) => (ctx ? undefined : 'fail');
    const { sagas } = await apps.start({ sagas: [OrderSaga] });
    await (await sagas.start(OrderSaga, { amount: 300 })).outcome();
    expect((await outbox()).map(({ type }) => type)).toEqual(['reserve', 'audit', 'release']);
  });

  test('is there before anything follows from it', async () => {
    const seen: unknown[] = [];
    @Saga({ name: 'ordered' })
    class OrderedSaga {
      @Step() request(ctx: StepContext) {
        ctx.publish({ topic: 'a', payload: 1 });
      }
      @Step() async look() {
        seen.push(...(await payloads()));
      }
    }
    const { sagas } = await apps.start({ sagas: [OrderedSaga] });
    await (await sagas.start(OrderedSaga, undefined)).outcome();
    expect(seen).toEqual([1]);
  });

  test('of many sagas at once is all there, and in order for each', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga] });
    const started = await Promise.all(
      Array.from({ length: 200 }, (_, amount) => sagas.start(OrderSaga, { amount })),
    );
    await Promise.all(started.map((saga) => saga.outcome()));
    const rows = await outbox();
    expect(rows).toHaveLength(400);
    for (const saga of started)
      expect(rows.filter(({ headers }) => headers['saga-id'] === saga.id).map(({ type }) => type)).toEqual([
        'reserve',
        'audit',
      ]);
  });
});

describe('What a transactional step publishes', () => {
  @Saga({ name: 'transactional', retry: { attempts: 2, delay: 1 } })
  class TransactionalSaga {
    @Step({ transactional: true }) async request(ctx: TransactionalStepContext<{ fail: boolean }>) {
      ctx.publish({ topic: 'a', payload: ctx.attempt });
      await ctx.manager.query('SELECT 1');
      if (ctx.input.fail) throw new Error('no');
    }
  }

  test('commits with what it writes', async () => {
    const { sagas } = await apps.start({ sagas: [TransactionalSaga] });
    await (await sagas.start(TransactionalSaga, { fail: false })).outcome();
    expect(await payloads()).toEqual([1]);
  });

  test('is rolled back with it', async () => {
    const { sagas } = await apps.start({ sagas: [TransactionalSaga] });
    await (await sagas.start(TransactionalSaga, { fail: true })).outcome();
    expect(await payloads()).toEqual([]);
  });

  test('is sent once when the database made it try again', async () => {
    let tries = 0;
    @Saga({ name: 'serialized', retry: { attempts: 1 } })
    class SerializedSaga {
      @Step({ transactional: true }) async request(ctx: TransactionalStepContext) {
        tries += 1;
        ctx.publish({ topic: 'a', payload: tries });
        if (tries === 1)
          await ctx.manager.query(
            `DO $$ BEGIN RAISE EXCEPTION 'could not serialize' USING ERRCODE = '40001'; END $$`,
          );
      }
    }
    const { sagas } = await apps.start({ sagas: [SerializedSaga] });
    await (await sagas.start(SerializedSaga, undefined)).outcome();
    expect(await payloads()).toEqual([2]);
  });
});

describe('Publishing works together with every other part of a checkpoint', () => {
  test('with a semantic lock that is passed on', async () => {
    @Saga({ name: 'locked', lockKey: ({ input }: { input: { key: string } }) => input.key })
    class LockedSaga {
      @Step() request(ctx: StepContext<{ key: string }>) {
        ctx.publish({ topic: 'a', payload: ctx.input.key });
      }
    }
    const { sagas } = await apps.start({ sagas: [LockedSaga] });
    const started = await Promise.all([1, 2, 3].map(() => sagas.start(LockedSaga, { key: 'k' })));
    await Promise.all(started.map((saga) => saga.outcome()));
    expect(await payloads()).toEqual(['k', 'k', 'k']);
  });

  test('with a saga that it starts, and one that waits for it', async () => {
    @Saga({ name: 'child' })
    class ChildSaga {
      @Step() request(ctx: StepContext<{ n: number }>) {
        ctx.publish({ topic: 'a', payload: `child ${ctx.input.n}` });
      }
    }
    @Saga({ name: 'parent' })
    class ParentSaga {
      @SubSaga(() => ChildSaga) child(ctx: StepContext) {
        ctx.publish({ topic: 'a', payload: 'parent' });
        return { n: 1 };
      }
    }
    const { sagas } = await apps.start({ sagas: [ParentSaga, ChildSaga] });
    await (await sagas.start(ParentSaga, undefined)).outcome();
    expect(await payloads()).toEqual(['parent', 'child 1']);
  });

  test('with what is waited for', async () => {
    @Saga({ name: 'waiting' })
    class WaitingSaga {
      @WaitFor({ signal: 'reply' }) reply(ctx: StepContext, payload: string) {
        ctx.publish({ topic: 'a', payload });
      }
    }
    const { sagas } = await apps.start({ sagas: [WaitingSaga] });
    const saga = await sagas.start(WaitingSaga, undefined);
    await sagas.signal(saga.id, 'reply', 'hello');
    await saga.outcome();
    expect(await payloads()).toEqual(['hello']);
  });
});

describe('publish() refuses', () => {
  test('what JSON cannot carry, naming the path: the step fails', async () => {
    @Saga({ name: 'wrong', retry: { attempts: 1 } })
    class WrongSaga {
      @Step() request(ctx: StepContext) {
        ctx.publish({ topic: 'a', payload: { amount: 1n } });
      }
    }
    const { sagas } = await apps.start({ sagas: [WrongSaga] });
    const { failure } = await (await sagas.start(WrongSaga, undefined)).outcome();
    expect(failure?.error).toMatchObject({
      name: SagaPayloadError.name,
      message: 'message.payload.amount is a bigint, which JSON cannot represent; store it as a string.',
    });
  });

  test('to be called after its step has ended', async () => {
    const late: unknown[] = [];
    let kept: StepContext | undefined;
    @Saga({ name: 'late' })
    class LateSaga {
      @Step() request(ctx: StepContext) {
        kept = ctx;
      }
    }
    const { sagas } = await apps.start({ sagas: [LateSaga] });
    await (await sagas.start(LateSaga, undefined)).outcome();
    await until(() => kept);
    try {
      kept!.publish({ topic: 'a', payload: 1 });
    } catch (error) {
      late.push(error);
    }
    expect(late).toEqual([expect.any(SagaStateError)]);
    expect(await payloads()).toEqual([]);
  });

  test('to be called by a condition', async () => {
    @Saga({ name: 'condition', retry: { attempts: 1 } })
    class ConditionSaga {
      @Step({
        when: (ctx: StepContext) => {
          ctx.publish({ topic: 'a', payload: 1 });
          return true;
        },
      })
      request() {}
    }
    const { sagas } = await apps.start({ sagas: [ConditionSaga] });
    const { failure } = await (await sagas.start(ConditionSaga, undefined)).outcome();
    expect(failure?.error).toMatchObject({ name: SagaStateError.name });
  });
});
