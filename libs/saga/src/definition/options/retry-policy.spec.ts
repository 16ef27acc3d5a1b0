import fc from 'fast-check';
import { SagaValidationError } from '../../errors.js';
import { DEFAULT_POLICIES, resolveRetryPolicy, retryDelay, type RetryPolicy } from './retry-policy.js';

/** The waits after the first, second, … failure, without jitter. */
function waits(policy: RetryPolicy, count: number): number[] {
  const resolved = resolveRetryPolicy({ ...policy, jitter: 0 });
  return Array.from({ length: count }, (_, index) => retryDelay(resolved, index + 1, 0.5));
}

const policies = fc.record({
  attempts: fc.integer({ min: 1, max: 10_000 }),
  delay: fc.oneof(fc.nat(120_000), fc.constantFrom('0ms', '1ms', '200ms', '5s', '2m')),
  factor: fc.oneof(fc.double({ min: 1, max: 10, noNaN: true }), fc.constantFrom(1, 2, 1e6, 1e300)),
  maxDelay: fc.oneof(fc.nat(120_000), fc.constantFrom('0ms', '1s', '1m', '7d')),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
});
const randomNumber = fc.double({ min: 0, max: 1, noNaN: true });

describe('a retry policy', () => {
  it('has the documented defaults', () => {
    const rest = { delay: 200, factor: 2, maxDelay: 60_000, jitter: 0.2, retryIf: undefined };
    expect(resolveRetryPolicy(DEFAULT_POLICIES.retry)).toEqual({ attempts: 3, ...rest });
    expect(resolveRetryPolicy(DEFAULT_POLICIES.compensationRetry)).toEqual({ attempts: 10, ...rest });
    expect(resolveRetryPolicy({ attempts: 1 })).toEqual({ attempts: 1, ...rest });
  });

  it('keeps every value that it is given, with durations in milliseconds', () => {
    const retryIf = () => true;
    expect(
      resolveRetryPolicy({ attempts: 7, delay: '1s', factor: 3, maxDelay: '5m', jitter: 1, retryIf }),
    ).toEqual({ attempts: 7, delay: 1_000, factor: 3, maxDelay: 300_000, jitter: 1, retryIf });
  });

  it('waits the same after each failure with a fixed back-off', () => {
    expect(waits({ attempts: 9, delay: '3s', backoff: 'fixed' }, 4)).toEqual([3_000, 3_000, 3_000, 3_000]);
    const { backoff } = resolveRetryPolicy({ attempts: 9, backoff: 'exponential' });
    expect(backoff).toBeUndefined();
  });

  it.each<[RetryPolicy, RegExp]>([
    [
      { attempts: 3, backoff: 'linear' as never },
      /retry.backoff is 'linear'.*'exponential', 'fixed' or a function/,
    ],
    [
      { attempts: 3, backoff: 'fixed', factor: 3 },
      /retry.factor is 3.*remove it: backoff 'fixed' does not use it/,
    ],
    [{ attempts: 3, backoff: 'fixed', maxDelay: '1m' }, /retry.maxDelay/],
    [{ attempts: 3, backoff: () => 1, delay: '1s' }, /retry.delay.*backoff as a function does not use it/],
    [{ attempts: 3, backoff: () => 1, jitter: 0.1 }, /retry.jitter/],
  ])('refuses %j, which would be without effect', (policy, problem) => {
    expect(() => resolveRetryPolicy(policy)).toThrow(problem);
  });

  it.each<[string, unknown]>([
    ['attempts', 0],
    ['attempts', -1],
    ['attempts', 1.5],
    ['attempts', Infinity],
    ['attempts', '3'],
    ['attempts', undefined],
    ['attempts', Symbol('3')],
    ['delay', 'soon'],
    ['delay', -1],
    ['factor', 0.5],
    ['factor', NaN],
    ['factor', Infinity],
    ['factor', '2'],
    ['maxDelay', '1 minute'],
    ['jitter', -0.1],
    ['jitter', 1.1],
    ['jitter', NaN],
    ['jitter', '0.5'],
    ['retryIf', true],
    ['backoff', 2],
  ])('refuses %s %p, and names it', (key, value) => {
    const policy = { attempts: 3, [key]: value } as RetryPolicy;
    const resolve = () => resolveRetryPolicy(policy, 'compensationRetry');
    expect(resolve).toThrow(SagaValidationError);
    expect(resolve).toThrow(new RegExp(`compensationRetry.*${key}`));
  });

  it.each([[3], ['twice'], [null], [undefined]])('refuses %p, which is no policy', (policy) => {
    expect(() => resolveRetryPolicy(policy as never, 'retry')).toThrow(SagaValidationError);
  });

  it('names every value that is wrong at once', () => {
    const wrong = { attempts: 0, delay: 'soon', factor: 0, maxDelay: 'late', jitter: 2, retryIf: 1 };
    for (const key of Object.keys(wrong)) {
      expect(() => resolveRetryPolicy(wrong as never, 'retry')).toThrow(new RegExp(`retry\\.${key}\\b`));
    }
  });
});

describe('the wait before the next attempt', () => {
  it.each<[string, RetryPolicy, number[]]>([
    ['doubles by default', { attempts: 9 }, [200, 400, 800, 1_600, 3_200]],
    ['grows by its factor', { attempts: 9, delay: 10, factor: 3 }, [10, 30, 90, 270, 810]],
    ['stays the same with factor 1', { attempts: 9, delay: '1s', factor: 1 }, [1_000, 1_000, 1_000]],
    ['never passes maxDelay', { attempts: 9, delay: '1s', maxDelay: '3s' }, [1_000, 2_000, 3_000, 3_000]],
    [
      'is delay when that is longer than the default of maxDelay',
      { attempts: 9, delay: '1h' },
      [3_600_000, 3_600_000],
    ],
    ['is maxDelay when delay is longer', { attempts: 9, delay: '5s', maxDelay: '1s' }, [1_000, 1_000]],
    ['is nothing when delay is 0', { attempts: 9, delay: 0 }, [0, 0, 0]],
  ])('%s', (_, policy, expected) => {
    expect(waits(policy, expected.length)).toEqual(expected);
  });

  it('is random in its jittered part only, and never longer than without jitter', () => {
    const policy = resolveRetryPolicy({ attempts: 3, delay: 1_000, jitter: 0.2 });
    expect([0, 0.5, 1].map((random) => retryDelay(policy, 1, random))).toEqual([1_000, 900, 800]);
    expect(retryDelay({ ...policy, jitter: 1 }, 1, 1)).toBe(0);
  });

  it('is whole milliseconds between (1 - jitter) of the full wait and the full wait, for any policy and attempt', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 10_000 }), randomNumber, (given, failures, random) => {
        const policy = resolveRetryPolicy(given);
        const full = retryDelay({ ...policy, jitter: 0 }, failures, random);
        const wait = retryDelay(policy, failures, random);
        expect(Number.isInteger(wait)).toBe(true);
        expect(wait).toBeLessThanOrEqual(full);
        expect(wait).toBeGreaterThanOrEqual(Math.floor(full * (1 - policy.jitter)) - 1);
        expect(full).toBeLessThanOrEqual(Math.round(policy.maxDelay));
      }),
    );
  });

  it('never gets shorter from one failure to the next', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 10_000 }), randomNumber, (given, failures, random) => {
        const policy = resolveRetryPolicy(given);
        expect(retryDelay(policy, failures + 1, random)).toBeGreaterThanOrEqual(
          retryDelay(policy, failures, random),
        );
      }),
    );
  });
});
