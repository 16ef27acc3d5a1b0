import {
  Approval,
  RemoteStep,
  Saga,
  Step,
  type StepContext,
  SubSaga,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';
import { cpuTimeSince } from '../fixtures/cpu-time.js';

const HOUR = 3_600_000;

/** One branch waits for a signal that never comes, and has no timeout. */
abstract class Unanswered {
  @Step({ after: [] }) begin() {}
  @WaitFor({ signal: 'reply', after: 'begin' }) reply(_ctx: object, payload: unknown) {
    return payload;
  }
}

@Saga({ name: 'child' })
class Child {
  @Step({ delay: '1h' }) rest() {}
  @Step({ retry: { attempts: 2, delay: '2h' } }) work(ctx: StepContext) {
    if (ctx.attempt === 1) throw new Error('not yet');
  }
}

@Saga({ name: 'with-delay' })
class WithDelay extends Unanswered {
  @Step({ after: 'begin', delay: '2d' }) remind() {}
}

@Saga({ name: 'with-retry' })
class WithRetry extends Unanswered {
  @Step({ after: 'begin', retry: { attempts: 3, delay: '6h', factor: 1 } }) call(ctx: StepContext) {
    if (ctx.attempt < 3) throw new Error('busy');
  }
}

@Saga({ name: 'with-deadline', timeout: '7d' })
class WithDeadline extends Unanswered {
  @Step({ after: 'begin', compensate: 'cancel' }) book() {}
  cancel() {}
}

@Saga({ name: 'with-second-wait' })
class WithSecondWait extends Unanswered {
  @Approval({ after: 'begin', timeout: '3d' }) approve() {}
}

@Saga({ name: 'with-sub-saga' })
class WithSubSaga extends Unanswered {
  @SubSaga(() => Child, { after: 'begin' }) parts() {
    return {};
  }
}

describe('run(), while one branch waits for a signal without timeout, goes on with', () => {
  test('the delay of another branch', async () => {
    const run = await SagaTest.of(WithDelay).run({});
    expect(run.trace).toEqual(['begin', 'remind']);
    expect(run.took).toBe(48 * HOUR);
    expect(run.waitingFor).toMatchObject({ kind: 'signal', signal: 'reply' });
  });

  test('the retries of another branch', async () => {
    const run = await SagaTest.of(WithRetry).run({});
    expect(run.calls.filter(({ step }) => step === 'call')).toHaveLength(3);
    expect(run.took).toBe(12 * HOUR);
  });

  test('the deadline of the saga', async () => {
    const run = await SagaTest.of(WithDeadline).run({});
    expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
    expect(run.trace).toEqual(['begin', 'book', 'cancel']);
    expect(run.took).toBe(7 * 24 * HOUR);
  });

  test('the timeout of another wait', async () => {
    const run = await SagaTest.of(WithSecondWait).run({});
    expect(run.outcome).toMatchObject({
      status: 'compensated',
      failure: { kind: 'timeout', step: 'approve' },
    });
  });

  test('the sub-saga of another branch', async () => {
    const run = await SagaTest.of(WithSubSaga).run({});
    expect(run.trace).toEqual(['begin', 'parts', 'rest', 'work']);
    expect(run.took).toBe(3 * HOUR);
    expect(run.waitingFor).toMatchObject({ kind: 'signal', signal: 'reply' });
  });
});

describe('what the test gives', () => {
  test('reaches each of several waits at once', async () => {
    const test = SagaTest.of(WithSecondWait).approving('approve').signal('reply', 'yes');
    const { outcome, took } = await test.run({});
    expect(outcome).toMatchObject({ status: 'completed', results: { reply: 'yes' } });
    expect(took).toBe(0);
  });

  test('may depend on the input of the saga', async () => {
    @Saga({ name: 'asking' })
    class Asking {
      @Step() begin(_ctx: StepContext<{ amount: number }>) {}
      @WaitFor({ signal: 'paid' }) pay(_ctx: StepContext<{ amount: number }>, payload: number) {
        return payload;
      }
    }
    const double = ({ amount }: { amount: number }) => 2 * amount;
    const { outcome } = await SagaTest.of(Asking).signal('paid', double).run({ amount: 21 });
    expect(outcome.results).toEqual({ pay: 42 });
  });

  test('reaches a wait while a sub-saga is waited for', async () => {
    const run = await SagaTest.of(WithSubSaga).signal('reply', 'yes').start({});
    expect(run.outcome.status).toBe('completed');
    expect(run.snapshot.steps.find(({ name }) => name === 'reply')!.updatedAt).toEqual(
      run.snapshot.createdAt,
    );
  });

  test('reaches one wait after the other, before the second times out', async () => {
    @Saga({ name: 'in-a-row' })
    class InARow {
      @WaitFor({ signal: 'first' }) first() {}
      @WaitFor({ signal: 'second', timeout: '1h' }) second() {}
      @Approval({ timeout: '1h' }) third() {}
    }
    const run = await SagaTest.of(InARow).signal('first').signal('second').approving('third').run({});
    expect(run.outcome.status).toBe('completed');
    expect(run.took).toBe(0);
  });
});

test('a year is one step of virtual time, not half a million polls', async () => {
  @Saga({ name: 'yearly' })
  class Yearly extends Unanswered {
    @Step({ after: 'begin', delay: '365d' }) renew() {}
  }
  const computed = cpuTimeSince();
  const run = await SagaTest.of(Yearly).run({});
  expect(run.took).toBe(365 * 24 * HOUR);
  expect(computed()).toBeLessThan(5_000);
});

describe('run() ends', () => {
  test('when a sub-saga waits for a signal without timeout', async () => {
    @Saga({ name: 'waiting-child' })
    class WaitingChild {
      @WaitFor({ signal: 'never' }) wait() {}
    }
    @Saga({ name: 'parent' })
    class Parent {
      @SubSaga(() => WaitingChild) child() {
        return {};
      }
    }
    const run = await SagaTest.of(Parent).run({});
    expect(run.waitingFor).toMatchObject({ kind: 'sub-saga', step: 'child' });
  });

  test('when no provider in the test has the handler of a remote step', async () => {
    @Saga({ name: 'remote' })
    class Remote {
      @RemoteStep('elsewhere') call() {
        return {};
      }
    }
    const run = await SagaTest.of(Remote).run({});
    expect(run.waitingFor).toMatchObject({ kind: 'handler', handler: 'elsewhere', deployed: false });
  });
});

describe('start() stops', () => {
  test('where one branch waits, with the delay of another still to come', async () => {
    const run = await SagaTest.of(WithDelay).start({});
    expect(run.trace).toEqual(['begin']);
    expect(run.took).toBe(0);
    await run.finish();
    expect(run.trace).toEqual(['begin', 'remind']);
  });

  test('where one branch waits, with the sub-saga of another still to come', async () => {
    const run = await SagaTest.of(WithSubSaga).start({});
    expect(run.trace).toEqual(['begin', 'parts']);
    expect(run.took).toBe(0);
  });
});

describe('everyFailure()', () => {
  test('walks through what comes beside a wait without timeout', async () => {
    const report = await SagaTest.of(WithRetry).everyFailure({}, () => undefined);
    const of = (name: string) => report.points.find((point) => point.name === name);
    expect(of('call is rejected')).toMatchObject({ status: 'compensated' });
    expect(of('nothing fails')).toMatchObject({ trace: ['begin', 'call'] });
  });
});
