import { APPROVAL_PREFIX } from '../../definition/options/signal-name.js';
import { LARGEST_SHOWN, type StoredOperation } from '../../engine/ports/operation.js';
import {
  type HistoryRecord,
  type OverdueSaga,
  type SagaChange,
  type SeenSaga,
  seenOf,
  type StoreStats,
} from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { MemoryRow } from './memory-row.js';
import { storedCopy } from './stored-copy.js';

/** What operators did to a saga, and what it was sent, in order. */
export function historyOf({ operations, signals }: MemoryRow): HistoryRecord[] {
  const sent = signals.map(({ name, at }) => ({ action: 'signal' as const, signal: name, at }));
  const told = sent.filter(({ signal }) => !signal.startsWith(APPROVAL_PREFIX));
  const shown = operations.map((one) =>
    one.given !== undefined && Buffer.byteLength(one.given) > LARGEST_SHOWN ? withoutGiven(one) : one,
  );
  return storedCopy([...shown, ...told].sort((a, b) => a.at - b.at));
}

function withoutGiven({ given: _, ...operation }: StoredOperation): StoredOperation {
  return operation;
}

/** Marks sagas of these names that have become overdue, the longest overdue first. */
export function markOverdue(
  rows: readonly MemoryRow[],
  names: readonly string[],
  limit: number,
  now: number,
): OverdueSaga[] {
  const over = rows.filter(
    ({ saga }) =>
      saga.slaAt! <= now && !saga.overdue && saga.finishedAt === undefined && names.includes(saga.name),
  );
  over.sort((a, b) => a.saga.slaAt! - b.saga.slaAt!);
  return over.slice(0, limit).map((row) => {
    row.saga.overdue = true;
    return toOverdue(row);
  });
}

function toOverdue({ saga, step }: MemoryRow): OverdueSaga {
  const { id, name, version, correlationId, state, slaAt } = saga;
  return { id, name, version, correlationId, status: state.status, step, slaAt: slaAt! };
}

/** @param messages published messages, which are never sent */
export function statsOf(
  rows: readonly MemoryRow[],
  pausedSteps: StoreStats['pausedSteps'],
  messages: number,
  now: number,
): StoreStats {
  const unfinished = rows.filter(({ saga }) => saga.finishedAt === undefined);
  const due = unfinished.flatMap(({ saga: { dueAt } }) => (dueAt !== undefined && dueAt <= now ? dueAt : []));
  const counts = new Map<string, StoreStats['sagas'][number]>();
  for (const { saga } of unfinished) {
    const { name, version } = saga;
    const { status } = saga.state;
    const key = JSON.stringify([name, version, status]);
    counts.set(key, { name, version, status, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return {
    now,
    sagas: [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count),
    due: due.length,
    oldestDue: due.length > 0 ? Math.min(...due) : undefined,
    overdue: unfinished.filter(({ saga }) => saga.overdue).length,
    pausedSteps,
    ...{ messages, dead: 0, oldestMessage: undefined },
  };
}

/** Returns the sagas that differ from what was seen of them. */
export function changesOf(
  rows: ReadonlyMap<string, MemoryRow>,
  watched: readonly SeenSaga[],
  toLoaded: (row: MemoryRow) => StoredSaga,
): SagaChange[] {
  return watched.flatMap(({ id, seen }) => {
    const row = rows.get(id);
    const now = row ? `${seenOf(row.saga)}${row.saga.reports ?? ''}` : '';
    return now === seen ? [] : { id, seen: now, saga: row && toLoaded(row) };
  });
}
