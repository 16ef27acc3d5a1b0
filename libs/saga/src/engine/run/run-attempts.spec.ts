import { RunAttempts } from './run-attempts.js';
import type { StepAttempt } from '../attempt/step-attempt.js';

function attemptOf(step: string, kind = 'run'): StepAttempt {
  const attempt = {
    step,
    action: { kind },
    aborted: '',
    abort: (why: Error) => (attempt.aborted = why.message),
  };
  return attempt as unknown as StepAttempt;
}

const abortedOf = (attempt: StepAttempt) => (attempt as unknown as { aborted: string }).aborted;

describe('the attempts in progress of a run', () => {
  const [a, b, c] = [attemptOf('a'), attemptOf('b', 'compensate'), attemptOf('c')];

  test('is what has begun and not ended, in whatever order', () => {
    const attempts = new RunAttempts();
    for (const attempt of [a, b, c]) attempts.add(attempt);
    expect([attempts.size, attempts.has(b), attempts.includes('b')]).toEqual([3, true, true]);
    attempts.delete(b);
    attempts.delete(b);
    expect([attempts.size, attempts.has(b), attempts.includes('b')]).toEqual([2, false, false]);
    attempts.delete(c);
    attempts.delete(a);
    expect(attempts.size).toBe(0);
    attempts.add(b);
    attempts.clear();
    expect([attempts.size, attempts.has(b)]).toEqual([0, false]);
  });

  test('is of one run alone', () => {
    const attempts = new RunAttempts();
    attempts.add(a);
    expect(new RunAttempts().size).toBe(0);
  });

  test('is aborted as a whole, or by kind', () => {
    const attempts = new RunAttempts();
    for (const attempt of [a, b]) attempts.add(attempt);
    attempts.abort('cancelled', 'cancelled', 'run');
    expect([a, b].map(abortedOf)).toEqual(['cancelled', '']);
    attempts.abort('shutdown', 'shut down');
    expect([a, b].map(abortedOf)).toEqual(['shut down', 'shut down']);
  });
});
