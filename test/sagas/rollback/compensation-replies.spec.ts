import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  type TransactionalCompensationContext,
} from '../../../libs/saga/src/index.js';
import { SagaTest } from '../../../libs/saga/src/testing/index.js';
import { AnsweringProxy } from '../../support/answering-proxy.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';
import { kindOf } from '../../support/unknown-answers.js';

const apps = TestApps.onOwnDatabase();

/** Reset for each test: the requests that were sent, in order. */
let sent: string[];
let failing: Gate<void>;
beforeEach(() => ([sent, failing] = [[], new Gate()]));

const policy = { attempts: 2, delay: 1, backoff: 'fixed', jitter: 0 } as const;
interface Order {
  readonly waits?: boolean;
}

@Saga({ name: 'refunding', compensationRetry: policy })
class RefundingSaga {
  @Step({ compensate: 'release' }) reserve() {
    return 'r';
  }
  release() {
    sent.push('release');
  }
  @Step({ compensate: 'refund', compensationReply: { signal: 'refunded' } }) pay() {
    return 'p';
  }
  refund(ctx: CompensationContext<Order, string>) {
    sent.push(`refund ${ctx.attempt}`);
  }
  @Step() async fail({ input }: StepContext<Order>) {
    if (input.waits) await failing.opened;
    throw new StepRejectedError('no');
  }
}

@Saga({ name: 'hasty', compensationRetry: policy })
class HastySaga {
  @Step({ compensate: 'refund', compensationReply: { signal: 'refunded', timeout: 40 } }) pay() {
    return 'p';
  }
  refund(ctx: CompensationContext<Order, string>) {
    sent.push(`refund ${ctx.attempt}`);
  }
  @Step() fail() {
    throw new StepRejectedError('no');
  }
}

/** Called before the commit of the request below. */
let beforeCommit: () => void;

@Saga({ name: 'recorded', compensationRetry: policy })
class RecordedSaga {
  @Step({ transactional: true, compensate: 'refund', compensationReply: { signal: 'refunded' } })
  pay() {
    return 'p';
  }
  async refund({ manager, sagaId }: TransactionalCompensationContext<Order, string>) {
    await manager.query('INSERT INTO refund_request VALUES ($1)', [sagaId]);
    beforeCommit();
  }
  @Step() fail() {
    throw new StepRejectedError('no');
  }
}

const sagas = [RefundingSaga, HastySaga, RecordedSaga];

describe('a compensation with a reply', () => {
  test('is done when the participant confirms it, and not when its method returns', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const { id, outcome } = await service.start(RefundingSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'signal');
    const saga = await service.get(id);
    expect(saga).toMatchObject({
      status: 'compensating',
      waitingFor: { kind: 'signal', step: 'pay', signal: 'refunded', during: 'compensation' },
    });
    // It holds no worker, and what comes before it is not compensated yet.
    expect(saga.lockedBy).toBeUndefined();
    expect(sent).toEqual(['refund 1']);
    await service.signal(id, 'refunded');
    expect((await outcome()).status).toBe('compensated');
    expect(sent).toEqual(['refund 1', 'release']);
  });

  test('sends its request once, though the answer to the COMMIT of its transaction is lost', async () => {
    await apps.sql('CREATE TABLE refund_request (saga uuid)');
    const proxy = await AnsweringProxy.before(apps.url);
    const { sagas: service } = await apps.start({ sagas, dataSource: { url: proxy.url } });
    beforeCommit = () => {
      beforeCommit = () => undefined;
      proxy.answerTo = (text) => {
        if (kindOf(text) !== 'COMMIT') return undefined;
        proxy.answerTo = () => undefined;
        return { severity: 'FATAL', code: '57P01', isExecuted: true };
      };
    };
    const { id, outcome } = await service.start(RecordedSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'signal');
    await service.signal(id, 'refunded');
    expect((await outcome()).status).toBe('compensated');
    expect(await apps.sql('SELECT saga FROM refund_request')).toEqual([{ saga: id }]);
    await proxy.close();
  });

  test('is confirmed by a reply that came before it was waited for', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const { id, outcome } = await service.start(RefundingSaga, { waits: true });
    await service.signal(id, 'refunded');
    failing.open();
    expect((await outcome()).status).toBe('compensated');
    expect(sent).toEqual(['refund 1', 'release']);
  });

  test('fails without a reply in time, is retried by its policy, and then needs an operator', async () => {
    const { sagas: service, operations } = await apps.start({ sagas });
    const { id, outcome } = await service.start(HastySaga, {});
    expect((await outcome()).status).toBe('stuck');
    expect(sent).toEqual(['refund 1', 'refund 2']);
    const { steps } = await service.get(id);
    const late = {
      during: 'compensation',
      message:
        "The compensation of step 'pay' did not receive the signal 'refunded' before its timeout of 40 ms",
    };
    expect(steps[0]).toMatchObject({ status: 'compensation_failed', errors: [late, late] });
    // A reply that comes late counts for the next attempt.
    await service.signal(id, 'refunded');
    await operations.retry(id);
    expect((await service.wait(id)).status).toBe('compensated');
  });

  test('of which the request was lost is abandoned, or completed, by an operator', async () => {
    const { sagas: service, operations } = await apps.start({ sagas });
    const { id } = await service.start(RefundingSaga, {});
    const isWaiting = async () => (await service.get(id)).waitingFor?.kind === 'signal';
    await until(isWaiting);
    await operations.abandon(id, 'pay', { by: 'ada' });
    await until(async () => sent.length === 2 && (await isWaiting()));
    expect(sent).toEqual(['refund 1', 'refund 2']);
    await expect(operations.abandon(id, 'reserve')).rejects.toThrow(/It could be: pay\./);
    expect((await operations.previewRollback(id)).compensations.map(({ step }) => step)).toEqual(['reserve']);
    await operations.resolve(id, 'pay', { by: 'ada' });
    expect((await service.wait(id)).status).toBe('compensated');
    expect(sent).toEqual(['refund 1', 'refund 2', 'release']);
  });
});

test('SagaTest waits for the reply in virtual time, and answers it by the script', async () => {
  const silent = await SagaTest.of(HastySaga).run({});
  expect(silent.outcome.status).toBe('stuck');
  const report = await SagaTest.of(RefundingSaga)
    .signal('refunded')
    .everyFailure({}, ({ outcome, trace }) => {
      expect(outcome.status).toBe('compensated');
      if (trace.includes('fail')) expect(trace).toContain('refund');
    });
  expect(report.points.length).toBeGreaterThan(10);
});
