import { types } from 'node:util';

/**
 * Ignores a value that a synchronous function returned against its type. If it is a promise, nothing awaits it. Its
 * rejection must not end the process.
 */
export function ignoreRejection(answer: unknown): void {
  if (!types.isPromise(answer)) return;
  try {
    void Promise.prototype.then.call(answer, undefined, () => undefined);
  } catch {
    // A subclass that cannot make another of its kind.
  }
}
