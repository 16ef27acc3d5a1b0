import { types } from 'node:util';

/**
 * A function that has to answer at once gave something else. If that is a promise, nobody will wait for it, and
 * should it fail, that must not end the process as an unhandled rejection.
 */
export function ignoreRejection(answer: unknown): void {
  if (!types.isPromise(answer)) return;
  try {
    void Promise.prototype.then.call(answer, undefined, () => undefined);
  } catch {
    // A subclass that cannot make another of its kind.
  }
}
