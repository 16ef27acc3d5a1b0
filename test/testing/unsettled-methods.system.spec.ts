import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Saga, SagaService, type StepContext, Step, SubSaga, WaitFor } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

const DAY = 86_400_000;
const never = (): Promise<never> => new Promise(() => undefined);

/** The error of a run that is to end within its patience, in real time. */
async function hangOf(run: Promise<unknown>): Promise<Error> {
  const error: unknown = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: 'SAGA_TEST_HANG' });
  return error as Error;
}

@Saga({ name: 'hangs' })
class Hangs {
  @Step() hang() {
    return never();
  }
}

describe('a run that waits for a method that never settles ends with an error', () => {
  test('that names the saga, its id and the step, and says what to do', async () => {
    const { message } = await hangOf(SagaTest.of(Hangs).patience(500).run({}));
    expect(message).toMatch(/^hang\(\) of step 'hang' of saga 'hangs' \([\w-]{36}\) has not settled/);
    expect(message).toMatch(/`timeout`.*patience/);
  });

  test('for a compensation', async () => {
    @Saga({ name: 'undone' })
    class Undone {
      @Step({ compensate: 'undo' }) work() {}
      undo() {
        return never();
      }
      @Step({ retry: { attempts: 1 } }) fail() {
        throw new Error('no');
      }
    }
    const { message } = await hangOf(SagaTest.of(Undone).patience(500).run({}));
    expect(message).toMatch(/^undo\(\) of step 'work' of saga 'undone'/);
  });

  test('for a probe, and for an item of a fan-out', async () => {
    @Saga({ name: 'probed' })
    class Probed {
      @Step({ idempotent: false, probe: 'ask', retry: { attempts: 1 } }) work() {
        throw Object.assign(new Error('lost'), { code: 'SAGA_UNKNOWN_OUTCOME' });
      }
      ask() {
        return never();
      }
    }
    expect((await hangOf(SagaTest.of(Probed).patience(500).run({}))).message).toMatch(
      /^ask\(\) of step 'work'/,
    );

    @Saga({ name: 'items' })
    class Items {
      @Step({ forEach: () => [0, 1] }) item(ctx: StepContext & { readonly item: number }) {
        return ctx.item === 1 ? never() : undefined;
      }
    }
    expect((await hangOf(SagaTest.of(Items).patience(500).run({}))).message).toMatch(/of step 'item\[1\]'/);
  });

  test('for a step of its sub-saga', async () => {
    @Saga({ name: 'parent' })
    class Parent {
      @SubSaga(() => Hangs) child() {
        return {};
      }
    }
    expect((await hangOf(SagaTest.of(Parent).patience(500).run({}))).message).toContain("saga 'hangs'");
  });

  test('after the branches beside it have passed their waits', async () => {
    @Saga({ name: 'beside' })
    class Beside {
      @Step({ after: [] }) hang() {
        return never();
      }
      @WaitFor({ signal: 'go', after: [], timeout: '3d', onFailure: 'continue' }) go() {}
    }
    const test = SagaTest.of(Beside).patience(1_500);
    expect((await hangOf(test.run({}))).message).toContain("step 'hang'");
  });

  test('although another saga has a next time for ever', async () => {
    @Saga({ name: 'repeats', retry: { attempts: 1_000_000, delay: '1h', backoff: 'fixed' } })
    class Repeats {
      @Step() repeat() {
        throw new Error('again');
      }
    }
    @Saga({ name: 'starts' })
    class Starts {
      constructor(private readonly sagas: SagaService) {}
      @Step() async start() {
        await this.sagas.start(Repeats, {});
        return never();
      }
    }
    const test = SagaTest.of(Starts, Repeats).patience(1_500);
    expect((await hangOf(test.run({}))).message).toContain("step 'start'");
  });

  test('for the check of the input, and for the payload of a signal', async () => {
    const input = { '~standard': { version: 1, vendor: 'test', validate: never } } as const;
    @Saga({ name: 'checked', input: input as never })
    class Checked {
      @Step() work() {}
    }
    expect((await hangOf(SagaTest.of(Checked).patience(500).run({}))).message).toContain('input');

    @Saga({ name: 'waits' })
    class Waits {
      @WaitFor({ signal: 'paid' }) paid() {}
    }
    const test = SagaTest.of(Waits).signal('paid', never).patience(500);
    expect((await hangOf(test.run({}))).message).toContain("signal 'paid'");
  });

  test('for the saga of a schedule', async () => {
    @Saga({ name: 'minutely', schedule: { cron: '* * * * *', overlap: 'allow' } })
    class Minutely {
      @Step() hang() {
        return never();
      }
    }
    const period = { from: '2026-03-01T00:00:00Z', until: '2026-04-01T00:00:00Z' };
    expect((await hangOf(SagaTest.of(Minutely).patience(1_500).ticks(period))).message).toContain(
      "'minutely'",
    );
  });

  test('and nothing of the run happens after it', async () => {
    let settle: () => void = () => undefined;
    let called = 0;
    @Saga({ name: 'late' })
    class Late {
      @Step() first() {
        return new Promise<void>((resolve) => (settle = resolve));
      }
      @Step() second() {
        called += 1;
      }
    }
    await hangOf(SagaTest.of(Late).patience(500).run({}));
    settle();
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    expect(called).toBe(0);
  });
});

test('a method that takes seconds of real time, as a real call does, completes, and no virtual time passes', async () => {
  @Saga({ name: 'calls' })
  class Calls {
    @Step() async call() {
      await sleep(1_800);
      return 'called';
    }
  }
  const { outcome, took } = await SagaTest.of(Calls).run({});
  expect(outcome).toMatchObject({ status: 'completed', results: { call: 'called' } });
  expect(took).toBeLessThan(1_000);
});

test('a run does not wait for a method of another saga', async () => {
  @Saga({ name: 'starter' })
  class Starter {
    constructor(private readonly sagas: SagaService) {}
    @Step() async start() {
      await this.sagas.start(Hangs, {});
    }
    @Step({ delay: '1d' }) end() {}
  }
  const run = await SagaTest.of(Starter, Hangs).run({});
  expect(run.outcome.status).toBe('completed');
  expect(Math.round(run.took / DAY)).toBe(1);
});

test('methods that a timeout has ended hold up no further step', async () => {
  @Saga({ name: 'times-out' })
  class TimesOut {
    @Step({ timeout: '1h', onFailure: 'continue', retry: { attempts: 1 } }) hang() {
      return never();
    }
    @Step({ delay: '1d', retry: { attempts: 20, delay: '1d', backoff: 'fixed' } }) repeat(ctx: StepContext) {
      if (ctx.attempt < 20) throw new Error('again');
    }
  }
  // A run that waited for it would end with an error.
  const { outcome } = await SagaTest.of(TimesOut).patience(2_000).run({});
  expect(outcome.status).toBe('completed');
});

test('a method for which a run waits is named in the log before a test runner ends the test after 5 s', async () => {
  const warnings: string[] = [];
  const warn = jest.spyOn(console, 'warn').mockImplementation((text: string) => void warnings.push(text));
  // It is in the log before the run ends.
  await hangOf(SagaTest.of(Hangs).patience('4s').run({}));
  warn.mockRestore();
  expect(warnings).toEqual([expect.stringMatching(/hang\(\) of step 'hang' of saga 'hangs'/)]);
});
