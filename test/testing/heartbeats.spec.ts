import {
  type CompensationContext,
  type HeartbeatContext,
  Saga,
  SagaPayloadError,
  SagaStateError,
  SagaValidationError,
  Step,
  StepAbortedError,
  type StepContext,
  UnknownOutcomeError,
} from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';
import { aborted } from '../support/gate.js';

interface Line {
  line: number;
}

const policy = { attempts: 3, delay: '1s', backoff: 'fixed', jitter: 0 } as const;
let seen: unknown[];
beforeEach(() => (seen = []));

@Saga({ name: 'import' })
class Import {
  @Step({ heartbeat: '1m', retry: policy })
  async load(ctx: HeartbeatContext<{ hangs: number }, Line>) {
    seen.push([ctx.attempt, ctx.lastHeartbeat ?? null]);
    await ctx.heartbeat({ line: ctx.attempt * 10 });
    seen.push(ctx.lastHeartbeat);
    if (ctx.attempt > ctx.input.hangs) return ctx.lastHeartbeat;
    const reason = await aborted(ctx.signal);
    seen.push((reason as StepAbortedError).trigger);
    await ctx.heartbeat({ line: -1 }).catch((error: Error) => seen.push(error.name));
    return 'too late';
  }
}

test('without a heartbeat in time the attempt is lost, its outcome unknown, and the next one sees the last details', async () => {
  const run = await SagaTest.of(Import).run({ hangs: 2 });
  expect(run.outcome).toMatchObject({ status: 'completed', results: { load: { line: 30 } } });
  const attempts = [
    ...[[1, null], { line: 10 }, 'heartbeat', 'StepAbortedError'],
    ...[[2, { line: 10 }], { line: 20 }, 'heartbeat', 'StepAbortedError'],
    ...[[3, { line: 20 }], { line: 30 }],
  ];
  expect(seen).toEqual(attempts);
  const [step] = run.snapshot.steps;
  expect(step).toMatchObject({
    status: 'completed',
    errors: [{ name: 'StepAbortedError', message: "Step 'load' sent no heartbeat for 60000 ms" }, {}],
  });
  expect(step).not.toHaveProperty('heartbeatAt');
  // Two heartbeats of a minute, and two pauses of a second.
  expect(Math.round(run.took / 1_000)).toBe(122);
});

test('an attempt that is lost for good rolls the saga back, because it may have taken effect', async () => {
  const run = await SagaTest.of(Import).timingOut('load').run({ hangs: 0 });
  expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'timeout', step: 'load' } });
  expect(run.snapshot.steps[0]).toMatchObject({ unknown: true, attempts: 3 });
});

test('the next process finds the last details after a crash', async () => {
  @Saga()
  class TwoSteps {
    @Step() first() {}
    @Step({ retry: { attempts: 2, delay: '1h' } })
    async second(ctx: HeartbeatContext<unknown, string>) {
      seen.push(ctx.lastHeartbeat);
      await ctx.heartbeat(`line ${ctx.attempt}`);
      if (ctx.attempt === 1) throw new Error('the connection broke');
    }
  }
  // It dies with the checkpoint that records the failure; before that, the details were stored.
  const run = await SagaTest.of(TwoSteps).crashing(2, 'after').run({});
  expect([run.outcome.status, run.missedCrashes, seen]).toEqual(['completed', 0, [undefined, 'line 1']]);
});

test('details are of one step and one round: another step, another item and another round begin anew', async () => {
  @Saga()
  class Rounds {
    @Step({ savepoint: true }) begin() {}
    @Step({ forEach: () => ['a', 'b'] })
    async item(ctx: StepContext<unknown> & { readonly index: number }) {
      seen.push(ctx.lastHeartbeat ?? null);
      await ctx.heartbeat(`${ctx.index} in ${ctx.round}`);
      if (ctx.attempt === 1) throw new Error('again');
    }
    @Step() async end(ctx: StepContext) {
      seen.push(ctx.lastHeartbeat ?? null);
      await ctx.heartbeat('end');
      if (ctx.round === 1) throw Object.assign(new Error('back'), {});
    }
  }
  const test = SagaTest.of(Rounds).options({ retry: { attempts: 2, delay: 1, jitter: 0 } });
  const { outcome } = await test.run({});
  expect(outcome.status).toBe('completed');
  const items = (round: number) => [null, null, `0 in ${round}`, `1 in ${round}`].sort();
  expect([...seen.slice(0, 4)].sort()).toEqual(items(1));
  expect(seen.slice(4, 6)).toEqual([null, 'end']);
  expect([...seen.slice(6, 10)].sort()).toEqual(items(2));
  expect(seen.slice(10)).toEqual([null]);
});

test('a compensation has its own details, and no heartbeat is asked of it', async () => {
  @Saga()
  class Undone {
    @Step({ heartbeat: 50, compensate: 'undo', compensationRetry: { attempts: 2, delay: 1 } })
    async work(ctx: StepContext) {
      await ctx.heartbeat('work');
    }
    async undo(ctx: CompensationContext) {
      seen.push(ctx.lastHeartbeat ?? null);
      await ctx.heartbeat('half undone');
      if (ctx.attempt === 1) throw new Error('again');
    }
    @Step({ retry: { attempts: 1 } }) fail() {
      throw new Error('no');
    }
  }
  expect((await SagaTest.of(Undone).run({})).outcome.status).toBe('compensated');
  expect(seen).toEqual([null, 'half undone']);
});

test('a compensation does not get the details of its step, whose outcome is unknown', async () => {
  @Saga()
  class Unknown {
    @Step({ compensate: 'undo', retry: { attempts: 1 } })
    async work(ctx: StepContext) {
      await ctx.heartbeat('work');
      throw new UnknownOutcomeError('the connection broke');
    }
    undo(ctx: CompensationContext) {
      seen.push(ctx.lastHeartbeat ?? null);
    }
  }
  expect((await SagaTest.of(Unknown).run({})).outcome.status).toBe('compensated');
  expect(seen).toEqual([null]);
});

describe('what cannot be reported is refused', () => {
  async function errorOf(report: (ctx: StepContext) => unknown): Promise<unknown> {
    let thrown: unknown;
    @Saga()
    class Reporting {
      @Step() async work(ctx: StepContext) {
        try {
          await report(ctx);
        } catch (error) {
          thrown = error;
        }
      }
    }
    await SagaTest.of(Reporting).run({});
    return thrown;
  }

  test.each<[unknown, RegExp]>([
    [{ percent: 101 }, /percent is 101; give a number from 0 to 100/],
    [{ percent: -0.1 }, /percent is -0.1/],
    [{ percent: NaN }, /percent is NaN/],
    [{ percent: '7' }, /percent is '7'/],
    [{ message: 'x'.repeat(501) }, /give a text of at most 500 characters/],
    [{ message: 7 }, /message is 7/],
    [{ percentage: 7 }, /unknown option 'percentage'.*Did you mean 'percent'/],
    [7, /it was given 7; give \{ percent, message \}/],
  ])('progress(%p)', async (report, message) => {
    const error = await errorOf((ctx) => ctx.progress(report as never));
    expect(error).toBeInstanceOf(SagaValidationError);
    expect((error as Error).message).toMatch(message);
  });

  test('details that JSON cannot represent, or of more than 16 KB', async () => {
    const bigint = await errorOf((ctx) => ctx.heartbeat({ line: 1n }));
    expect(bigint).toBeInstanceOf(SagaPayloadError);
    expect((bigint as Error).message).toMatch(/heartbeat\.line/);
    expect(await errorOf((ctx) => ctx.heartbeat('x'.repeat(16_400)))).toBeInstanceOf(SagaPayloadError);
    expect(await errorOf((ctx) => ctx.heartbeat('x'.repeat(16_000)))).toBeUndefined();
  });

  test('reports of work that continues after its method has returned', async () => {
    let late: StepContext | undefined;
    await errorOf((ctx) => void (late = ctx));
    expect(() => late!.progress({ percent: 1 })).toThrow(SagaStateError);
    await expect(late!.heartbeat()).rejects.toThrow(SagaStateError);
  });
});

test('a loop that awaits heartbeats blocks nothing', async () => {
  @Saga()
  class Loop {
    @Step() async work(ctx: StepContext) {
      let turns = 0;
      const timer = setInterval(() => (turns += 1), 1);
      for (let n = 0; turns === 0; n += 1) await ctx.heartbeat(n);
      clearInterval(timer);
    }
  }
  expect((await SagaTest.of(Loop).run({})).outcome.status).toBe('completed');
});
