import type { OperatedSaga } from './operated-saga.js';

/** All of them side by side; what goes wrong is told with all that had happened. */
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
