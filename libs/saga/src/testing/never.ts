/**
 * Returns a promise that never settles: the result of a call of a process that is gone. Each call returns a promise of its
 * own, because a promise that never settles keeps everything that waits for it.
 */
export function never(): Promise<never> {
  return new Promise<never>(() => undefined);
}
