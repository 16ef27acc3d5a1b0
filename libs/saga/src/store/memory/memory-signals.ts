import { sagaLabel } from '../../definition/graph/saga-graph.js';
import type { AwaitedSignals, SignalResult } from '../../engine/ports/saga-store.js';
import type { SentSignal } from '../../engine/ports/stored-saga.js';
import { isInProgress, isTerminal } from '../../machine/saga-state.js';
import { awaitedSignals } from '../../machine/waits.js';
import type { MemoryGraphStore } from './memory-graph-store.js';
import type { MemoryWakeup } from './memory-wakeup.js';
import type { MemoryRow } from './memory-row.js';

/** The part of MemoryGraphStore that is used. */
export type StoredSignals = Pick<MemoryGraphStore, 'signalsOf' | 'isAwaited'>;

/** Keeps a signal for a saga, under the next number. */
function keepSignal(
  row: MemoryRow,
  { name, messageId, payload }: SentSignal,
  now: number,
  graphs: StoredSignals,
  known: AwaitedSignals | undefined,
): SignalResult {
  const { id, name: saga, version, state } = row.saga;
  const told = { id, name: saga, version, status: state.status };
  if (row.signals.some((kept) => kept.messageId === messageId)) return { outcome: 'known', saga: told };
  const awaited = known && awaitedBy(row, graphs.signalsOf(row.saga), known);
  if (awaited?.includes(name) === false)
    return { outcome: 'refused', saga: told, awaited, elsewhere: graphs.isAwaited(saga, name) };
  if (isTerminal(state.status)) return { outcome: 'ended', saga: told };
  row.signals.push({ name, messageId, payload, number: lastNumberOf(row) + 1, at: now });
  return { outcome: 'kept', saga: told };
}

/**
 * The names of the signals that the saga waits for, now or later, by its own graph; undefined: its graph is not known.
 * @param stored those of the stored graph that it goes by
 */
function awaitedBy(
  { saga }: MemoryRow,
  stored: readonly string[] | undefined,
  known: AwaitedSignals,
): readonly string[] | undefined {
  const deployed = saga.graphRevision === undefined ? known[sagaLabel(saga)] : undefined;
  if (!stored && !deployed) return undefined;
  return [...new Set([...(stored ?? []), ...(deployed ?? []), ...awaitedSignals(saga.state.steps)])];
}

/** Whether the saga waits for a signal of this name, and has no lease. */
function waitsFor({ saga: { lockedBy, state } }: MemoryRow, name: string): boolean {
  const { status, steps } = state;
  if (lockedBy !== undefined || !isInProgress(status)) return false;
  return awaitedSignals(steps).includes(name);
}

/** Signals that were taken may be lost, while the state that took them was put back. */
function lastNumberOf({ signals, saga: { state } }: MemoryRow): number {
  return Math.max(signals.at(-1)?.number ?? 0, ...Object.values(state.lastTakenSignals ?? {}));
}

/** Keeps a signal, and lets the saga look at it, now or once it is given back. */
export function sendSignal(
  row: MemoryRow,
  signal: SentSignal,
  now: number,
  wakeup: Pick<MemoryWakeup, 'announce' | 'announceDue'>,
  graphs: StoredSignals,
  known?: AwaitedSignals,
): SignalResult {
  const result = keepSignal(row, signal, now, graphs, known);
  if (result.outcome !== 'kept') return result;
  if (waitsFor(row, signal.name)) {
    row.saga.dueAt = now;
    wakeup.announceDue();
  } else if (row.saga.lockedBy !== undefined) {
    row.woken = true;
    wakeup.announce({ type: 'look', id: row.saga.id });
  }
  return result;
}
