import { Saga, type CompensationContext, type StepContext } from '../../index.js';
import { Step } from '../../definition/decorators/step.decorator.js';
import { SagaTest } from '../../testing/index.js';

class BusyError extends Error {
  constructor(readonly retryAfterMs: unknown) {
    super('busy');
  }
}

/** Fails once, in its step or in its compensation. */
@Saga({ retry: { attempts: 2, delay: 100, jitter: 0 }, compensationRetry: { attempts: 2, delay: 100 } })
class ReserveSaga {
  @Step({ compensate: 'release' })
  reserve({ attempt, input }: StepContext<{ step?: unknown }>) {
    if (attempt === 1 && 'step' in input) throw new BusyError(input.step);
  }
  release({ attempt, input }: CompensationContext<{ compensation?: unknown }>) {
    if (attempt === 1) throw new BusyError(input.compensation);
  }
  @Step()
  charge({ input }: StepContext<{ compensation?: unknown }>) {
    if ('compensation' in input) throw Object.assign(new Error('no'), { code: 'SAGA_STEP_REJECTED' });
  }
}

const took = async (input: object) => (await SagaTest.of(ReserveSaga).run(input)).took;

describe('an error with retryAfterMs', () => {
  test('delays the next attempt beyond the policy', async () => {
    expect(await took({ step: 60_000 })).toBeGreaterThanOrEqual(60_000);
    expect(await took({ compensation: 60_000 })).toBeGreaterThanOrEqual(60_000);
  });

  test.each([[50], [0], [-1], ['60000'], [null]])(
    'never makes it earlier, and means nothing as %p',
    async (wait) => expect(await took({ step: wait })).toBe(100),
  );
});

test('an error can ask for one day at most', async () => {
  expect(await took({ step: 1e12 })).toBe(86_400_000);
});

const tokens: bigint[] = [];

@Saga()
class TokenSaga {
  @Step()
  first({ fencingToken }: StepContext) {
    tokens.push(fencingToken);
  }
  @Step()
  second({ fencingToken }: StepContext) {
    tokens.push(fencingToken);
  }
}

test('the fencing token rises when another process takes the saga', async () => {
  await SagaTest.of(TokenSaga).crashing('first').run(undefined);
  expect(tokens).toHaveLength(3);
  const [first, again, second] = tokens;
  expect(again!).toBeGreaterThan(first!);
  expect(second).toBe(again);
});
