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
  const { timeout } = attempt;
  const end = (error: StepAbortedError): void => {
    attempt.abort(error);
    over();
  };
  const timer = timeout === undefined ? undefined : clock.after(timeout, () => end(timedOut(attempt)));
  const beats = new HeartbeatWatch(attempt, clock, () => end(withoutHeartbeat(attempt)));
  beats.start();
  return () => {
    clock.cancel(timer);
    beats.stop();
  };
}

function timedOut({ action, step, timeout }: StepAttempt): StepAbortedError {
  const what = action.kind === 'compensate' ? 'The compensation of step' : 'Step';
  return new StepAbortedError(`${what} '${step}' ran longer than its timeout of ${timeout} ms`, 'timeout');
}

function withoutHeartbeat({ step, heartbeat }: StepAttempt): StepAbortedError {
  return new StepAbortedError(`Step '${step}' sent no heartbeat for ${heartbeat} ms`, 'heartbeat');
}

/** One timer at a time, which is not set again at each heartbeat: it looks at the time of the last one when it is over. */
class HeartbeatWatch {
  private timer: Timer | undefined;

  constructor(
    private readonly attempt: StepAttempt,
    private readonly clock: Clock,
    private readonly over: () => void,
  ) {}

  start(): void {
    const { heartbeat } = this.attempt;
    if (heartbeat !== undefined) this.look(this.clock.monotonic() + heartbeat);
  }

  stop(): void {
    this.clock.cancel(this.timer);
  }

  /** @param at monotonic time by which the next heartbeat is due */
  private look(at: number): void {
    this.timer = this.clock.after(at - this.clock.monotonic(), () => {
      const due = (this.attempt.beatAt ?? -Infinity) + this.attempt.heartbeat!;
      if (due > this.clock.monotonic()) this.look(due);
      else this.over();
    });
  }
}
