import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { isTerminal } from '../../libs/saga/src/machine/saga-state.js';
import type { Promised } from './promises.js';
import type { SagaRecord } from './saga-record.js';

type Books = ReadonlyMap<string, SagaRecord>;

/** Holds semantic locks against the promises: who may have one, who has to, and who may be refused it. */
export class LockChecker {
  constructor(
    private readonly books: Books,
    private readonly violate: (promise: Promised, what: string) => void,
  ) {}

  /** A claim gave a saga to a worker. `hadLock`: so did an earlier one. */
  claimed(book: SagaRecord, hadLock: boolean): void {
    if (!book.lockHeld || hadLock || book.lockKey === undefined) return;
    // A saga enters the lock of an ancestor. Any other holder has entered it there.
    if (this.ownerAbove(book, (id) => this.books.get(id)!.lockHeld)) return;
    for (const other of this.books.values())
      if (other !== book && other.lockHeld && isSameLock(other, book) && !isTerminal(other.state.status))
        this.violate('I13', `${book.id} and ${other.id} both have ${lockOf(book)}`);
  }

  /**
   * All sagas with a lock that have not ended, as they are stored, after a statement by which one left its
   * line.
   * @param now as if the database's clock had not been set back: what came before that is due later, and keeps its place
   */
  stored(sagas: readonly StoredSaga[], now: number): void {
    const lines = new Map<string, StoredSaga[]>();
    for (const saga of sagas) {
      const book = this.books.get(saga.id)!;
      const lock = lockOf(book);
      lines.set(lock, [...(lines.get(lock) ?? []), saga]);
    }
    const held = new Set(sagas.filter(({ lock }) => lock?.held).map(({ id }) => id));
    for (const [lock, line] of lines) {
      const holders = line.filter((saga) => saga.lock?.held);
      const families = new Set(holders.map(({ id }) => this.rootOf(id)));
      if (families.size > 1)
        this.violate(
          'I13',
          `${holders.map(({ id }) => id).join(' and ')}, of several families, have ${lock}`,
        );
      const waiting = line.filter(({ lock: is, dueAt }) => is && !is.held && dueAt === undefined);
      // One that has just come, or that is to wait no more, takes it with its next claim.
      const isComing = line.some(
        ({ lock: is, dueAt }) => is && !is.held && dueAt !== undefined && dueAt <= now,
      );
      if (holders.length === 0 && !isComing && waiting.some(({ state }) => state.status !== 'paused'))
        this.violate('I30', `${waiting.map(({ id }) => id).join(', ')} wait for ${lock}, which no saga has`);
      for (const { id, state } of waiting) {
        const owner = this.ownerAbove(this.books.get(id)!, (other) => held.has(other));
        if (owner !== undefined && state.status !== 'paused')
          this.violate('I31', `${id} waits for ${lock}, which its ancestor ${owner.id} has`);
      }
    }
  }

  /** The ancestor that has a saga's lock. */
  private ownerAbove(book: SagaRecord, isHeld: (id: string) => boolean): SagaRecord | undefined {
    return ancestorsOf(book, this.books).find((other) => isHeld(other.id) && isSameLock(other, book));
  }

  /**
   * A saga was refused its lock, for it would wait for ever.
   * @param isHeld whether a saga has its lock, as it is stored
   */
  refused(book: SagaRecord, isHeld: (id: string) => boolean): void {
    const owner = this.ownerAbove(book, isHeld);
    if (owner)
      return this.violate('I31', `${book.id} is refused ${lockOf(book)}, which its ancestor ${owner.id} has`);
    const ancestors = new Set(ancestorsOf(book, this.books));
    const reached = new Set<SagaRecord>();
    const next = this.waitedFor(book, isHeld);
    for (let other = next.pop(); other; other = next.pop()) {
      if (ancestors.has(other)) return;
      if (reached.has(other)) continue;
      reached.add(other);
      next.push(...this.waitedFor(other, isHeld));
    }
    this.violate(
      'I31',
      `${book.id} is refused ${lockOf(book)}, and no saga that it would wait for waits for it`,
    );
  }

  /**
   * Sub-sagas that the saga has to wait for if it is compensated now, and the holders of the lock that it
   * lacks.
   */
  private waitedFor(book: SagaRecord, isHeld: (id: string) => boolean): SagaRecord[] {
    const waits = book.lockKey !== undefined && !isHeld(book.id) && !isTerminal(book.state.status);
    return [...this.books.values()].filter((other) => {
      if (other.parent === book.id && isLinked(other)) return true;
      return waits && other !== book && isSameLock(other, book) && isHeld(other.id);
    });
  }

  private rootOf(id: string): string {
    const parent = this.books.get(id)?.parent;
    return parent === undefined ? id : this.rootOf(parent);
  }
}

/** The saga that started it may wait for it still, or have it compensated. */
function isLinked({ state: { status } }: SagaRecord): boolean {
  return status !== 'compensated' && status !== 'aborted';
}

function ancestorsOf({ parent }: SagaRecord, books: Books): SagaRecord[] {
  const book = parent === undefined ? undefined : books.get(parent);
  return book && isLinked(book) ? [book, ...ancestorsOf(book, books)] : [];
}

function isSameLock(a: SagaRecord, b: SagaRecord): boolean {
  return a.lockKey === b.lockKey && a.graph.name === b.graph.name;
}

function lockOf({ graph, lockKey }: SagaRecord): string {
  return `lock '${lockKey}' of ${graph.name}`;
}
