import { PendingCount } from './pending-count.js';

/** Answers of this process that have not arrived. Virtual time waits for them. */
export const PENDING_ANSWERS = new PendingCount();

/**
 * The answer of a function that the engine asks synchronously, such as `when`, if another process computes it. Only
 * declared sagas return it: their answers arrive within a bounded time. A promise of an application has no bound.
 */
export class Later<T> {
  readonly answer: Promise<T>;

  constructor(answer: Promise<T>) {
    PENDING_ANSWERS.add();
    this.answer = answer.finally(() => PENDING_ANSWERS.done());
  }
}

/** Continues with an answer: at once, unless it arrives later. */
export function continueWith<T, R>(answer: T | Later<T>, next: (answer: T) => R): R | Promise<Awaited<R>> {
  return answer instanceof Later ? (answer.answer.then(next) as Promise<Awaited<R>>) : next(answer);
}
