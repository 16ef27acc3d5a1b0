import { awaitsChild, isTerminal } from '../../libs/saga/src/machine/saga-state.js';
import type { SagaRecord } from './saga-record.js';

/** True: it has ended, or an operator has to act. */
export function rests({ state: { status } }: SagaRecord): boolean {
  return isTerminal(status) || needsOperator(status);
}

/**
 * Why a saga never ends, although nothing goes wrong any more: its sub-saga, or the holder of its lock, needs an operator.
 * Undefined: the saga has to move. Everything else that it may wait for comes: times, workers, signals, and operators who
 * resume it.
 */
export function whyItWaits(
  book: SagaRecord,
  books: ReadonlyMap<string, SagaRecord>,
  seen: Set<string> = new Set(),
): string | undefined {
  // Looked at once, by whichever way: there are more ways through sagas that wait for each other than can be walked.
  if (seen.has(book.id)) return undefined;
  seen.add(book.id);
  for (const { other, what } of waitedFor(book, books)) {
    const why = needsOperator(other.state.status)
      ? `is ${other.state.status}`
      : whyItWaits(other, books, seen);
    if (why !== undefined) return `${what} ${other.id}, which ${why}`;
  }
  return undefined;
}

/** The sagas that have not ended, each with its reason. */
export function waitingIn(books: ReadonlyMap<string, SagaRecord>): string[] {
  return [...books.values()].flatMap((book) => {
    const why = rests(book) ? undefined : whyItWaits(book, books);
    return why === undefined ? [] : [`${book.id} ${why}`];
  });
}

function* waitedFor(
  { state, lockHeld, lockKey, graph }: SagaRecord,
  books: ReadonlyMap<string, SagaRecord>,
): Iterable<{ other: SagaRecord; what: string }> {
  for (const step of state.steps.values()) {
    const child = awaitsChild(step) && books.get(step.child!.id);
    if (child) yield { other: child, what: 'waits for its sub-saga' };
  }
  if (lockKey === undefined || lockHeld) return;
  for (const other of books.values()) {
    const isHolder = other.lockHeld && other.lockKey === lockKey && other.graph.name === graph.name;
    if (isHolder && !isTerminal(other.state.status)) yield { other, what: 'waits for the lock of' };
  }
}

function needsOperator(status: SagaRecord['state']['status']): boolean {
  return status === 'stuck' || status === 'suspended';
}
