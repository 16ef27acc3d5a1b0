import { awaitsChild, isTerminal } from '../../libs/saga/src/machine/saga-state.js';
import type { SagaBook } from './saga-book.js';

/** True: it has ended, or an operator has to act. */
export function rests({ state: { status } }: SagaBook): boolean {
  return isTerminal(status) || needsOperator(status);
}

/**
 * Why a saga never ends, although nothing goes wrong any more: its sub-saga, or the holder of its lock, needs an operator.
 * Undefined: the saga has to move. Everything else that it may wait for comes: times, workers, signals, and operators who
 * resume it.
 */
export function whyItWaits(
  book: SagaBook,
  books: ReadonlyMap<string, SagaBook>,
  seen: ReadonlySet<string> = new Set(),
): string | undefined {
  if (seen.has(book.id)) return undefined;
  for (const { other, what } of waitedFor(book, books)) {
    const why = needsOperator(other.state.status)
      ? `is ${other.state.status}`
      : whyItWaits(other, books, new Set([...seen, book.id]));
    if (why !== undefined) return `${what} ${other.id}, which ${why}`;
  }
  return undefined;
}

/** The sagas that have not ended, each with its reason. */
export function waitingIn(books: ReadonlyMap<string, SagaBook>): string[] {
  return [...books.values()].flatMap((book) => {
    const why = rests(book) ? undefined : whyItWaits(book, books);
    return why === undefined ? [] : [`${book.id} ${why}`];
  });
}

function* waitedFor(
  { state, lockHeld, lockKey, graph }: SagaBook,
  books: ReadonlyMap<string, SagaBook>,
): Iterable<{ other: SagaBook; what: string }> {
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

function needsOperator(status: SagaBook['state']['status']): boolean {
  return status === 'stuck' || status === 'suspended';
}
