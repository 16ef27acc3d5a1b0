import type { Book } from './model-state.js';
import { ChildHappenings } from './graph-children.js';
import type { EventOf } from '../../libs/saga/src/machine/saga-event.js';

/** What the rules make of signals, of refusals, and of time that passes for what waits. */
export class WaitHappenings extends ChildHappenings {
  protected awaited({ step, now }: EventOf<'wait-started'>): Book[] {
    const { wait: awaited } = this.relations.node(step);
    const timeout = awaited!.timeout ?? (awaited!.timeoutOf?.({} as never) as number | undefined);
    const wait = timeout === undefined ? {} : { until: now + timeout };
    // What happened at the same moment may have made it roll back.
    if (this.rules.goesForward(this.relations.node(step))) this.change(step, { wait, retryAt: undefined });
    return [this.book];
  }

  /** W1, W2: the step that took the signal. Undefined: the signal is kept for later. */
  protected taken({ name, number }: EventOf<'signalled' | 'refused'>): string | undefined {
    const taker = this.rules.takerOf(name, number)?.name;
    if (taker === undefined) return undefined;
    this.change(taker, { wait: { ...this.rules.life(taker).wait, number } });
    this.book.lastTaken.set(name, number);
    return taker;
  }

  /** B6: its method has returned, and the participant says when it is done. */
  protected requested({ step, now }: EventOf<'compensation-requested'>): Book[] {
    const { timeout } = this.relations.node(step).compensationReply!;
    if (this.isInProgress(step, 'undoing'))
      this.change(step, { active: false, reply: timeout === undefined ? {} : { until: now + timeout } });
    return [this.book];
  }

  /** B6, W2: it is done. */
  protected replied({ name, number }: EventOf<'reply-received'>): Book[] {
    const taker = this.rules.takerOf(name, number)?.name;
    if (taker === undefined) return [this.book];
    this.change(taker, { phase: 'undone', reply: undefined });
    this.book.lastTaken.set(name, number);
    return [this.book];
  }

  /** W5: an operator moves what ends at a time: a delay, a wait, or the time before the next attempt. */
  protected rescheduled({ step, at }: EventOf<'rescheduled'>): Book[] {
    const { book, rules, relations } = this;
    const goesOn = ['running', 'returning', 'compensating'].includes(book.mode);
    const { phase, active, reply, wait, retryAt, failures, delayed } = rules.life(step);
    if (!goesOn || active) return [book];
    const isUndone = phase === 'undoing';
    const isAgain = (isUndone || (phase === 'idle' && failures > 0)) && retryAt !== undefined;
    if (reply) this.change(step, { reply: { until: at } });
    else if (isAgain) this.change(step, { retryAt: at });
    else if (isUndone || rules.isDropped(relations.node(step).name)) return [book];
    else if (rules.isWaiting(relations.node(step))) this.change(step, { wait: { ...wait, until: at } });
    else if (phase === 'idle' && delayed && retryAt !== undefined) this.change(step, { retryAt: at });
    return [book];
  }

  /** W4: nothing has come by then. */
  protected waitExpired({ step, now }: EventOf<'wait-expired'>): Book[] {
    const { until } = this.rules.life(step).wait ?? {};
    const isWaiting = this.book.mode === 'running' && this.rules.isWaiting(this.relations.node(step));
    return isWaiting && until !== undefined && until <= now ? this.waitFailed(step) : [this.book];
  }

  /** Like a step that failed permanently, but its method never started: nothing needs compensation. */
  protected waitFailed(step: string): Book[] {
    this.change(step, { phase: 'failed', failures: this.rules.life(step).failures + 1, wait: undefined });
    return this.failedForGood(step);
  }
}
