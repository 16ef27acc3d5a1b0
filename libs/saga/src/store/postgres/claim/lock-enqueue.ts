import type { LockDeadlock, StoredSaga } from '../../../engine/ports/stored-saga.js';
import { isTerminal } from '../../../machine/saga-state.js';

/** What lock_enqueue gives of a claimed saga that may run. */
export interface EnqueuedRow {
  readonly id: string;
  readonly deadline: number | null;
  readonly held: boolean;
  readonly deadlock: LockDeadlock | null;
  readonly cancelled: boolean;
  readonly reason: string | null;
}

/** A claimed saga that does not have its semantic lock yet, or that has ended and has to hand it on. */
export function isToEnqueue({ lock, state }: StoredSaga): boolean {
  return lock !== undefined && (!lock.held || isTerminal(state.status));
}

/** The arguments of lock_enqueue. */
export function enqueueParameters(sagas: readonly StoredSaga[]) {
  return {
    ids: sagas.map(({ id }) => id),
    epochs: sagas.map(({ epoch }) => epoch),
    names: sagas.map(({ name }) => name),
    keys: sagas.map(({ lock }) => lock!.key),
  };
}

/** Returns the claimed sagas that may run, as they are now. */
export function enqueued(claimed: readonly StoredSaga[], rows: readonly EnqueuedRow[]): StoredSaga[] {
  const ready = new Map(rows.map((row) => [row.id, row]));
  return claimed.flatMap((saga) => {
    if (!isToEnqueue(saga)) return saga;
    const row = ready.get(saga.id);
    if (!row) return [];
    return {
      ...saga,
      deadlock: row.deadlock ?? undefined,
      lock: row.held ? { key: saga.lock!.key, held: true } : undefined,
      state: { ...saga.state, deadline: row.deadline ?? undefined },
      takeovers: 0,
      cancelRequested: row.cancelled ? { reason: row.reason ?? undefined } : undefined,
    };
  });
}
