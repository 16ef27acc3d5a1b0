import { StepAbortedError } from '../../errors.js';
import type { Clock, Timer } from '../../shared/clock.js';
import type { StepAttempt } from './step-attempt.js';

/** Does its step bound the time of an attempt, or the time between two heartbeats? */
export function isBounded({ timeout, heartbeat }: StepAttempt): boolean {
  return timeout !== undefined || heartbeat !== undefined;
}

/**
 * Aborts an attempt, and calls `over`, once it runs longer than its timeout, or sends no heartbeat in time.
 * @returns a function that ends this
 */
export function boundAttempt(attempt: StepAttempt, clock: Clock, over: () => void): () => void {
  const { timeout, heartbeat } = attempt;
  const end = (error: StepAbortedError): void => {
    attempt.abort(error);
    over();
  };
  const timer = timeout === undefined ? undefined : clock.after(timeout, () => end(timedOut(attempt)));
  let beats: Timer | undefined;
  // One timer at a time, which is not set again at each heartbeat: it looks at the time of the last one when it is over.
  const expectBeat = (by: number, interval: number): void => {
    beats = clock.after(by - clock.monotonic(), () => {
      const due = (attempt.beatAt ?? -Infinity) + interval;
      if (due > clock.monotonic()) expectBeat(due, interval);
      else end(withoutHeartbeat(attempt));
    });
  };
  if (heartbeat !== undefined) expectBeat(clock.monotonic() + heartbeat, heartbeat);
  return () => {
    clock.cancel(timer);
    clock.cancel(beats);
  };
}

function timedOut({ action, step, timeout }: StepAttempt): StepAbortedError {
  const what = action.kind === 'compensate' ? 'The compensation of step' : 'Step';
  return new StepAbortedError(`${what} '${step}' ran longer than its timeout of ${timeout} ms`, 'timeout');
}

function withoutHeartbeat({ step, heartbeat }: StepAttempt): StepAbortedError {
  return new StepAbortedError(`Step '${step}' sent no heartbeat for ${heartbeat} ms`, 'heartbeat');
}
