import type { LockDeadlock } from '../../engine/ports/stored-saga.js';
import type { MemoryFamilies } from './memory-families.js';
import { hasLock, isSameLock, type LockedRow } from './memory-row.js';

type HoldersOf = (row: LockedRow) => LockedRow[];

/** Rows that are to fail, so that nothing waits for ever. */
interface Broken {
  readonly row: LockedRow;
  readonly deadlock: LockDeadlock;
}

/**
 * What is to fail if this row, which is about to wait for its lock, would wait for ever: itself, or, since it is undone,
 * those that wait for what its ancestors hold. None: it may wait.
 */
export function brokenBy(row: LockedRow, families: MemoryFamilies, holdersOf: HoldersOf): Broken[] {
  const kin = families.ancestors(row).filter(hasLock);
  if (kin.length === 0) return [];
  const reached = reachedFrom(row, kin, families, holdersOf);
  const told = (of: LockedRow): Broken[] => {
    const held = families.ancestors(of).find((other) => hasLock(other) && reached.has(other));
    const [holder] = holdersOf(of).filter(({ lock }) => lock!.state === 'held');
    return held && holder ? [{ row: of, deadlock: deadlockOf(of, holder, held) }] : [];
  };
  const own = told(row);
  if (own.length === 0 || row.saga.state.status === 'running') return own;
  const waiting = [...reached].filter(
    (other) => other.lock?.state === 'waiting' && kin.some((one) => isSameLock(one, other)),
  );
  return waiting.every(mayFail) ? waiting.flatMap(told) : own;
}

/** The sagas that it would wait for, directly or not, up to its own ancestors. */
function reachedFrom(row: LockedRow, kin: LockedRow[], families: MemoryFamilies, holdersOf: HoldersOf) {
  const reached = new Set(holdersOf(row));
  for (const other of reached) {
    if (kin.includes(other)) continue;
    for (const child of families.children(other)) reached.add(child);
    if (other.lock?.state === 'waiting') for (const holder of holdersOf(other)) reached.add(holder);
  }
  return reached;
}

/** Whether a saga goes forward, and so may fail. */
function mayFail({ saga: { state } }: LockedRow): boolean {
  return state.status === 'running' || (state.status === 'paused' && state.heldPhase === 'running');
}

function deadlockOf(row: LockedRow, holder: LockedRow, held: LockedRow): LockDeadlock {
  return {
    key: row.lock!.key,
    holder: { id: holder.saga.id, name: holder.saga.name },
    held: { id: held.saga.id, name: held.saga.name, key: held.lock!.key },
  };
}
