import { Approval, Saga, Step, type StepContext, WaitFor } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

const HOUR = 3_600_000;
/** When the virtual time of a test begins. */
const BEGIN = Date.UTC(2026, 0, 1);

interface Order {
  at: string;
  hours: number;
}

const order = (hours: number): Order => ({ hours, at: new Date(BEGIN + hours * HOUR).toISOString() });
const asked: string[] = [];
beforeEach(() => asked.splice(0));

@Saga({ name: 'deliver' })
class Deliver {
  @Step() pack() {
    return { extra: 2 };
  }
  @Step({
    delay: (ctx: StepContext<Order>) => {
      asked.push('delay');
      return new Date(ctx.input.at);
    },
    when: () => {
      asked.push('when');
      return true;
    },
  })
  ship() {
    return 'shipped';
  }
  @Step({ delay: (ctx: StepContext<Order, Deliver>) => `${ctx.results.pack.extra}h` }) ask() {}
}

test('A delay is until the date of the input, and for a duration of the results', async () => {
  const run = await SagaTest.of(Deliver).run(order(48));
  expect([run.outcome.status, run.took]).toEqual(['completed', 50 * HOUR]);
  expect(asked).toEqual(['delay', 'when']);
});

test('A date in the past is no delay', async () => {
  expect((await SagaTest.of(Deliver).run(order(-1))).took).toBe(2 * HOUR);
});

test('A computed time is stored: a crash does not change it, and it is not computed again', async () => {
  let calls = 0;
  @Saga()
  class Once {
    @Step({ delay: () => `${(calls += 1)}h` }) first() {}
    @WaitFor({ signal: 'go', timeout: () => `${(calls += 1)}h` }) go() {}
  }
  const run = await SagaTest.of(Once).crashing(1, 'after').crashing(2, 'after').crashing(3, 'after').run({});
  expect([run.outcome.failure?.kind, run.took, calls, run.missedCrashes]).toEqual([
    'timeout',
    3 * HOUR,
    2,
    0,
  ]);
});

test('The end of a wait, and of an approval, is computed once it begins', async () => {
  @Saga()
  class Waits {
    @Step({ delay: '1h' }) begin() {}
    @WaitFor({ signal: 'paid', timeout: (ctx: StepContext<Order>) => new Date(ctx.input.at) }) paid() {}
    @Approval({ timeout: (ctx: StepContext<Order>) => ctx.input.hours * HOUR }) allow() {}
  }
  const late = await SagaTest.of(Waits).run(order(5));
  expect([late.outcome.failure, late.took]).toMatchObject([{ kind: 'timeout', step: 'paid' }, 5 * HOUR]);
  const paid = await SagaTest.of(Waits).signal('paid').run(order(5));
  expect([paid.outcome.failure, paid.took]).toMatchObject([{ kind: 'timeout', step: 'allow' }, 6 * HOUR]);
  const done = await SagaTest.of(Waits).signal('paid').approving('allow').run(order(5));
  expect([done.outcome.status, done.took]).toEqual(['completed', HOUR]);
});

test('The deadline and the sla of a saga are computed from its input', async () => {
  @Saga({
    timeout: ({ input }: { input: Order }) => new Date(input.at),
    sla: ({ input }: { input: Order }) => `${input.hours}m`,
  })
  class Bounded {
    @Step({ delay: '10h' }) late() {}
  }
  const run = await SagaTest.of(Bounded).run(order(3));
  expect([run.outcome.failure?.kind, run.took]).toEqual(['timeout', 3 * HOUR]);
  expect(run.snapshot.slaAt?.getTime()).toBe(BEGIN + 3 * 60_000);
  expect((await SagaTest.of(Bounded).run(order(11))).outcome.status).toBe('completed');
});

test.each<[unknown, string]>([
  [new Date(NaN), 'must synchronously return a duration, or a valid Date'],
  [undefined, 'it returned undefined'],
  ['soon', "'soon' is not a duration"],
  [-1, '-1 is not a duration'],
  [Promise.resolve('1h'), 'must synchronously return'],
  [new Date(8.64e15), 'within a hundred years'],
])('A function of times that returns %p fails as a step does', async (returned, message) => {
  @Saga()
  class Wrong {
    @Step({ compensate: 'back' }) first() {}
    back() {}
    @Step({ delay: (() => returned) as never }) never() {}
  }
  const run = await SagaTest.of(Wrong).run({});
  expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'error', step: 'never' } });
  expect(run.outcome.failure?.error?.message).toContain(message);
  expect(run.trace).toEqual(['first', 'back']);

  @Saga()
  class WrongWait {
    @WaitFor({ signal: 'go', timeout: (() => returned) as never }) go() {}
  }
  expect((await SagaTest.of(WrongWait).run({})).outcome).toMatchObject({
    ...{ status: 'compensated', failure: { kind: 'error', step: 'go' } },
  });
  @Saga({ timeout: (() => returned) as never })
  class WrongDeadline {
    @Step() only() {}
  }
  await expect(SagaTest.of(WrongDeadline).run({})).rejects.toMatchObject({ code: 'SAGA_VALIDATION' });
});

test('A function of times that throws fails the step with its error', async () => {
  @Saga({ retry: { attempts: 3 } })
  class Throws {
    @Step({
      delay: () => {
        throw new Error('no date');
      },
    })
    never() {}
  }
  const { outcome } = await SagaTest.of(Throws).run({});
  expect(outcome.failure).toMatchObject({ step: 'never', error: { message: 'no date' } });
});

test('Every failure of a saga with computed times ends well', async () => {
  const report = await SagaTest.of(Deliver).everyFailure(order(5), ({ outcome }) =>
    expect(outcome.status).toMatch(/completed|compensated/),
  );
  expect(report.points.length).toBeGreaterThan(8);
});
