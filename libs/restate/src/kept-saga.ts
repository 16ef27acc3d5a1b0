import {
  isInProgress,
  isTerminal,
  type Lease,
  type MemoryRow,
  MemorySagaStore,
  MemoryWakeupHub,
  type StoredGraph,
  type StoredMessage,
  type StoredStepPause,
  type WakeupMessage,
} from 'nestjs-durable-saga/internal/backend';
import { type LockAnswers, OwnLock } from './own-lock.js';

/** The lease of a saga that any worker may take. */
export const NOBODY: Lease = { worker: '', duration: 0 };

/** The state of the object of a saga. */
export interface KeptSaga {
  readonly row: MemoryRow;
  /** Rises with each change: an edit is stored if nothing has changed since it was decided. */
  readonly revision: number;
  /** The workers that wait for it to settle. */
  readonly watchers: readonly string[];
  /** When its object looks at it next (milliseconds since the epoch). Undefined: never by itself. */
  readonly looksAt?: number;
  /** The slots of which its lease has one: a key of SAGA_SLOTS. Undefined: it has none. */
  readonly slots?: string;
  /** The name of the claim that took its lease. Undefined: none did. */
  readonly claim?: string;
}

/** What a change has led to. */
export interface Changed<T> {
  readonly result: T;
  /** The saga afterwards. Undefined: there is none. */
  readonly row?: MemoryRow;
  /** The worker that held it before. */
  readonly holder?: string;
  /** Sagas that it starts. */
  readonly children: readonly MemoryRow[];
  /** The saga that waits for this one, which has ended now. */
  readonly parent?: string;
  readonly messages: readonly WakeupMessage[];
  /** What it has published. */
  readonly published: readonly StoredMessage[];
}

/**
 * Runs the rules of the store on one saga: in a store in memory that has no other. The result depends on the arguments
 * alone, so that it may be repeated. The row is changed.
 * @throws LockQuestion if the object of its lock has to be asked first
 */
export async function changed<T>(
  row: MemoryRow | undefined,
  now: number,
  change: (store: MemorySagaStore) => Promise<T>,
  {
    pauses = [],
    lock = {},
  }: { readonly pauses?: readonly StoredStepPause[]; readonly lock?: LockAnswers } = {},
): Promise<Changed<T>> {
  const hub = new MemoryWakeupHub();
  const wakeup = hub.wakeup();
  const messages: WakeupMessage[] = [];
  await wakeup.start((message) => messages.push(message));
  const before = row?.saga.state.status;
  const holder = row?.saga.lockedBy;
  const store = new MemorySagaStore({
    ...{ now: () => now, wakeup, rows: row ? [row] : [], pauses },
    locks: (families, announceDue) => new OwnLock(families, announceDue, lock),
  });
  const result = await change(store);
  // The hub passes messages on in microtasks.
  await Promise.resolve();
  const [own, ...children] = store.all;
  const ends = before !== undefined && !isTerminal(before) && own && isTerminal(own.saga.state.status);
  const parent = ends ? own.saga.parent?.id : undefined;
  return { result, row: own, holder, children, parent, messages, published: store.outbox };
}

/** Lets a store know stored graphs. */
export async function addGraphs(store: MemorySagaStore, graphs: readonly StoredGraph[]): Promise<void> {
  for (const graph of graphs) await store.graphs.exclusively((kept) => kept.put(graph));
}

/** When a worker should look at a saga. Undefined: never by itself. */
export function dueAtOf({ saga }: MemoryRow): number | undefined {
  return isInProgress(saga.state.status) ? saga.dueAt : undefined;
}

/** When it becomes overdue, if it is not yet. */
export function overdueAtOf({ saga: { slaAt, overdue, finishedAt } }: MemoryRow): number | undefined {
  return finishedAt === undefined && !overdue ? slaAt : undefined;
}

/** The saga, as far as it is due or overdue. */
export function newsOf(
  row: MemoryRow,
  now: number,
): { readonly due?: MemoryRow; readonly overdue?: MemoryRow } {
  return {
    ...((dueAtOf(row) ?? Infinity) <= now && { due: row }),
    ...((overdueAtOf(row) ?? Infinity) <= now && { overdue: row }),
  };
}

/** A worker has it, but its lease is over. */
export function hasRunOut({ saga: { lockedBy, dueAt } }: MemoryRow, now: number): boolean {
  return lockedBy !== undefined && dueAt !== undefined && dueAt <= now;
}
