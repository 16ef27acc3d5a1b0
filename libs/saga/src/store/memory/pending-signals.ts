import type { StoredSaga, StoredSignal } from '../../engine/ports/stored-saga.js';

/** What it has not taken yet; undefined: nothing was sent at all. */
export function pendingSignalsOf({
  signals,
  saga,
}: {
  readonly signals: readonly StoredSignal[];
  readonly saga: Pick<StoredSaga, 'state'>;
}): readonly StoredSignal[] | undefined {
  if (signals.length === 0) return undefined;
  const heard = saga.state.lastTakenSignals ?? {};
  return signals.filter(({ name, number }) => number > (heard[name] ?? 0));
}
