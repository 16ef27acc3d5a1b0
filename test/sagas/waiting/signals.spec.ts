import { randomUUID } from 'node:crypto';
import {
  Saga,
  SagaNotFoundError,
  SagaPayloadError,
  SagaStateError,
  SagaValidationError,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { TestApps } from '../../support/test-app.js';
import { waits } from '../../support/waits.js';

const apps = TestApps.onOwnDatabase();
/** Nothing here may be found by polling: what waits has to be woken. */
const NO_POLL = { worker: { pollInterval: '1h' } } as const;

interface Reply {
  accepted: boolean;
  amount?: number;
}

/** What the tests of a saga that waits have it do, each anew. */
let gate: Gate;
let failures: Error[];
beforeEach(() => {
  gate = new Gate();
  gate.open();
  failures = [];
});

@Saga({ name: 'payment', retry: { attempts: 3, delay: 1 } })
class PaymentSaga extends Journalled {
  @Step({ compensate: 'undo' }) async request(ctx: StepContext<{ order: string }>) {
    this.note(ctx);
    await gate.opened;
  }

  @WaitFor({ signal: 'payment-reply', compensate: 'undo' })
  async reply(ctx: StepContext<{ order: string }>, reply: Reply) {
    this.note(ctx);
    const failure = failures.shift();
    if (failure) throw failure;
    if (!reply.accepted) throw new StepRejectedError('the card was declined');
    return { paid: reply.amount ?? 0, attempt: ctx.attempt };
  }

  @Step() ship(ctx: StepContext<unknown, PaymentSaga>): unknown {
    return this.note(ctx, { of: ctx.results.reply.paid });
  }
}

const ORDER = { order: 'a' };
const ACCEPTED = { accepted: true, amount: 300 };

async function started(correlationId?: string) {
  const app = await apps.start({ sagas: [PaymentSaga], options: NO_POLL });
  app.stopPolling();
  const saga = await app.sagas.start(PaymentSaga, ORDER, { correlationId });
  return { ...app, saga, waits: () => waits(apps, saga.id) };
}

describe('A saga that waits for a signal', () => {
  test('goes on when it comes, and the step’s result is what its method makes of it', async () => {
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED);
    expect(await saga.outcome()).toMatchObject({
      status: 'completed',
      results: { reply: { paid: 300, attempt: 1 }, ship: { of: 300 } },
    });
    expect(journal).toEqual(['request', 'reply', 'ship']);
  });

  test('holds no lease and is due at no time', async () => {
    const { saga, waits } = await started();
    await waits();
    expect(
      await apps.sql('SELECT locked_by, due_at, rank_at, step FROM saga.instance WHERE id = $1', [saga.id]),
    ).toEqual([{ locked_by: null, due_at: null, rank_at: null, step: 'reply' }]);
  });

  test('says so', async () => {
    const { sagas, saga, waits } = await started();
    await waits();
    const { status, waitingFor, step, steps } = await sagas.get(saga.id);
    expect({ status, waitingFor, step }).toEqual({
      status: 'running',
      waitingFor: { kind: 'signal', step: 'reply', signal: 'payment-reply' },
      step: 'reply',
    });
    expect(steps.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'request completed',
      'reply waiting',
      'ship pending',
    ]);
  });

  test('costs one commit more than its first step does', async () => {
    const { saga, waits } = await started();
    await waits();
    expect(await apps.sql('SELECT checkpoints, epoch FROM saga.instance WHERE id = $1', [saga.id])).toEqual([
      { checkpoints: 1, epoch: 1 },
    ]);
  });

  test('is found by its correlation id', async () => {
    const { sagas, saga, waits } = await started('order-1');
    await waits();
    await sagas.signal({ saga: PaymentSaga, correlationId: 'order-1' }, 'payment-reply', ACCEPTED);
    expect((await saga.outcome()).status).toBe('completed');
  });

  test('that has no correlation id is found by its id instead', async () => {
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.signal({ saga: 'payment', correlationId: saga.id }, 'payment-reply', ACCEPTED);
    expect((await saga.outcome()).status).toBe('completed');
  });

  test('goes on in another process', async () => {
    const { close, saga, waits } = await started();
    await waits();
    await close();
    const starter = await apps.start({ sagas: [PaymentSaga], options: { worker: false } });
    await starter.sagas.signal(saga.id, 'payment-reply', ACCEPTED);
    const other = await apps.start({ sagas: [PaymentSaga] });
    expect((await other.sagas.wait(saga.id)).status).toBe('completed');
  });

  test('can be cancelled', async () => {
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.cancel(saga.id);
    expect((await saga.outcome()).status).toBe('compensated');
    expect(journal).toEqual(['request', 'undo request']);
  });
});

describe('What a signal brings', () => {
  test('can be rejected: the saga rolls back immediately, and the step is not compensated', async () => {
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.signal(saga.id, 'payment-reply', { accepted: false });
    expect(await saga.outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'rejected', step: 'reply', error: { message: 'the card was declined' } },
    });
    expect(journal).toEqual(['request', 'reply', 'undo request']);
  });

  test('is tried again as often as the retry policy says', async () => {
    failures = [new Error('not now'), new Error('not yet')];
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED);
    expect(await saga.outcome()).toMatchObject({ results: { reply: { paid: 300, attempt: 3 } } });
  });

  test('turns the saga back once the retry policy is used up', async () => {
    failures = [new Error('1'), new Error('2'), new Error('3')];
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED);
    expect(await saga.outcome()).toMatchObject({
      status: 'compensated',
      failure: { step: 'reply', error: { message: '3' } },
    });
  });

  test('may be nothing', async () => {
    @Saga({ name: 'bell' })
    class BellSaga {
      @WaitFor({ signal: 'rung' }) ring(_: StepContext, payload: unknown) {
        return { payload: String(payload) };
      }
    }
    const { sagas } = await apps.start({ sagas: [BellSaga] });
    const saga = await sagas.start(BellSaga, undefined);
    await sagas.signal(saga.id, 'rung');
    expect((await saga.outcome()).results).toEqual({ ring: { payload: 'undefined' } });
  });
});

describe('A signal that comes before the saga waits for it', () => {
  test('is kept, and taken without anybody being woken', async () => {
    gate = new Gate();
    const { sagas, saga } = await started();
    await until(() => journal.includes('request'));
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED);
    gate.open();
    expect((await saga.outcome()).status).toBe('completed');
  });

  test('is kept by a saga that has not started, which starts no sooner for it', async () => {
    const options = { worker: { pollInterval: '10ms' } } as const;
    const { sagas } = await apps.start({ sagas: [PaymentSaga], options });
    const saga = await sagas.start(PaymentSaga, ORDER, { delay: '1h' });
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED);
    expect(await sagas.get(saga.id)).toMatchObject({ waitingFor: { kind: 'delay' } });
    await apps.sql('UPDATE saga.instance SET starts_at = NULL, due_at = now(), rank_at = now()');
    expect((await saga.outcome()).status).toBe('completed');
  });

  test('does not keep it from being undone', async () => {
    gate = new Gate();
    const { sagas, saga } = await started();
    await until(() => journal.includes('request'));
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED);
    await sagas.cancel(saga.id);
    gate.open();
    expect((await saga.outcome()).status).toBe('compensated');
    expect(journal).toEqual(['request', 'undo request']);
  });
});

describe('signal() answers clearly', () => {
  test('when the saga has ended', async () => {
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED, { messageId: 'reply-1' });
    await saga.outcome();
    await expect(sagas.signal(saga.id, 'payment-reply', ACCEPTED)).rejects.toThrow(SagaStateError);
    await expect(sagas.signal(saga.id, 'payment-reply', ACCEPTED)).rejects.toThrow(
      `Saga ${saga.id} (payment) cannot be sent the signal 'payment-reply': it is completed.`,
    );
  });

  test('when it was sent the same before it ended: nothing is wrong', async () => {
    const { sagas, saga, waits } = await started();
    await waits();
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED, { messageId: 'reply-1' });
    await saga.outcome();
    await sagas.signal(saga.id, 'payment-reply', ACCEPTED, { messageId: 'reply-1' });
  });

  test('when there is no such saga', async () => {
    const { sagas } = await apps.start({ sagas: [PaymentSaga] });
    for (const target of [randomUUID(), 'no id', { saga: PaymentSaga, correlationId: 'none' }])
      await expect(sagas.signal(target, 'payment-reply')).rejects.toThrow(SagaNotFoundError);
  });

  test('when no step of the saga waits for such a signal', async () => {
    const { sagas } = await apps.start({ sagas: [PaymentSaga] });
    const { id } = await sagas.start(PaymentSaga, ORDER, { correlationId: 'a' });
    const end = async () => expect((await sagas.wait(id)).status).toBe('completed');
    for (const target of [{ saga: PaymentSaga, correlationId: 'a' }, id]) {
      const sent = sagas.signal(target, 'payment-repl');
      await expect(sent).rejects.toThrow(SagaValidationError);
      await expect(sent).rejects.toThrow(
        "No step of payment@1 waits for the signal 'payment-repl'; did you mean 'payment-reply'? Its signals: payment-reply.",
      );
    }
    expect(await apps.sql('SELECT FROM saga.signal')).toEqual([]);
    await sagas.signal(id, 'payment-reply', ACCEPTED);
    await end();
    await expect(sagas.signal(id, 'payment-repl')).rejects.toThrow(SagaValidationError);
  });

  test('and leaves it to the saga when this process does not have it, or not in this version', async () => {
    const { sagas } = await apps.start({ sagas: [PaymentSaga], options: { worker: false } });
    @Saga({ name: 'payment', version: 2 })
    class Newer {
      @WaitFor({ signal: 'payment-settled' }) settle() {}
    }
    @Saga({ name: 'parcel' })
    class Parcel {
      @WaitFor({ signal: 'delivered' }) deliver() {}
    }
    const other = await apps.start({ sagas: [Newer, Parcel] });
    const newer = await other.sagas.start(Newer, {});
    await sagas.signal(newer.id, 'payment-settled');
    expect((await newer.outcome()).status).toBe('completed');
    const parcel = await other.sagas.start(Parcel, {});
    await sagas.signal(parcel.id, 'delivered');
    expect((await parcel.outcome()).status).toBe('completed');
  });

  test.each<[string, unknown, unknown, string]>([
    ['a name that is none', '', undefined, "signal is ''"],
    ['a name of an approval', 'approval:x', undefined, 'are reserved for approvals'],
    ['a message id that is none', 'payment-reply', { messageId: '' }, 'messageId is'],
  ])('when it is given %s', async (_, name, options, message) => {
    const { sagas } = await apps.start({ sagas: [PaymentSaga] });
    const sent = sagas.signal(randomUUID(), name as string, undefined, options as object);
    await expect(sent).rejects.toThrow(SagaValidationError);
    await expect(sent).rejects.toThrow(message);
  });

  test('when JSON cannot carry the payload', async () => {
    const { sagas } = await apps.start({ sagas: [PaymentSaga] });
    await expect(sagas.signal(randomUUID(), 'payment-reply', { amount: 1n })).rejects.toThrow(
      SagaPayloadError,
    );
  });
});
