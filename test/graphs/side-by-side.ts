import type { OperatedSaga } from './operated-saga.js';

/** Runs all of them concurrently. A failure is reported with everything that happened before. */
export async function sideBySide(
  played: readonly OperatedSaga[],
  act: (saga: OperatedSaga, n: number) => Promise<void>,
): Promise<void> {
  const results = await Promise.allSettled(played.map(act));
  const wrong = results.flatMap((result, n) =>
    result.status === 'rejected' ? [`saga ${n}: ${String(result.reason)}\n${played[n]!.story()}`] : [],
  );
  expect(wrong).toEqual([]);
}
