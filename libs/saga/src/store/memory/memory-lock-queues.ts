import { isTerminal } from '../../machine/saga-state.js';
import { startTimeOf } from '../../machine/turn.js';
import type { LockDeadlock } from '../../engine/ports/stored-saga.js';
import type { MemoryFamilies } from './memory-families.js';
import { brokenBy } from './memory-lock-circles.js';
import { hasLock, isSameLock, type LockedRow } from './memory-row.js';

/**
 * The semantic locks: of the rows of one name with one key one holds the lock, and those that it has started, directly
 * or not, run under its hold. The others wait in a queue, in the order in which they arrived.
 */
export class MemoryLockQueues {
  constructor(
    private readonly families: MemoryFamilies,
    private readonly announceDue: () => void,
    /** By `queueKey`. */
    private readonly queues = new Map<string, LockedRow[]>(),
    /** The last place that was given. */
    private places = 0,
  ) {}

  /** Adds a new row at the end of its queue. */
  arrive(row: LockedRow): void {
    if (!row.lock) return;
    row.lock.place = this.places += 1;
    const queue = this.queues.get(queueOf(row));
    if (queue) queue.push(row);
    else this.queues.set(queueOf(row), [row]);
  }

  /** A saga that had begun, and was lost, is before all others of its queue. */
  goFirst(row: LockedRow): void {
    const queue = row.lock && this.queues.get(queueOf(row));
    if (!row.lock || !queue) return;
    row.lock.place = queue[0]!.lock!.place - 1;
    this.queues.set(queueOf(row), [row, ...queue.filter((other) => other !== row)]);
  }

  /** Adds a row again that left its queue and is rolled back now. It gets its old place, before all that arrived since. */
  rejoin(row: LockedRow): void {
    const { left, saga } = row;
    if (!left || row.lock || saga.state.status !== 'compensating') return;
    row.lock = { ...left, state: 'arriving' };
    saga.deadlock = undefined;
    const queue = this.queues.get(queueOf(row)) ?? [];
    const at = queue.findIndex(({ lock }) => lock!.place > left.place);
    this.queues.set(queueOf(row), queue.toSpliced(at < 0 ? queue.length : at, 0, row));
  }

  /** Reports whether a row that is due may run. If not, it waits in the queue and is not due. */
  enqueue(row: LockedRow, now: number): boolean {
    if (!row.lock || hasLock(row)) return true;
    const startsAt = startTimeOf(row.saga.state, now);
    if (startsAt !== undefined) {
      row.saga.dueAt = startsAt;
      return false;
    }
    if (this.families.ancestors(row).some((other) => hasLock(other) && isSameLock(other, row))) {
      grant(row, 'inside', now);
      return true;
    }
    if (this.first(row, now) === row) {
      this.hold(row, now);
      return true;
    }
    const holdersOf = (of: LockedRow) => this.holdersOf(of);
    const broken = brokenBy(row, this.families, holdersOf);
    for (const { row: failing, deadlock } of broken) this.fail(failing, deadlock, now);
    if (broken[0]?.row === row) return true;
    row.lock.state = 'waiting';
    row.saga.dueAt = undefined;
    if (broken.length > 0) this.announceDue();
    return false;
  }

  /** The saga has left the queue. The worker that holds it lets it fail. */
  private fail(row: LockedRow, deadlock: LockDeadlock, now: number): void {
    this.takeOut(row);
    row.saga.deadlock = deadlock;
    if (row.saga.state.status !== 'paused') row.saga.dueAt = now;
  }

  private holdersOf({ saga, lock }: LockedRow): LockedRow[] {
    const queue = lock ? (this.queues.get(queueKey(saga.name, lock.key)) ?? []) : [];
    return queue.filter(hasLock);
  }

  private takeOut(row: LockedRow): void {
    const queue = (this.queues.get(queueOf(row)) ?? []).filter((other) => other !== row);
    if (queue.length > 0) this.queues.set(queueOf(row), queue);
    else this.queues.delete(queueOf(row));
    row.left = row.lock;
    row.lock = undefined;
  }

  /** Removes a row that has ended or will never begin. Returns true if another row received its lock and is due. */
  leave(row: LockedRow, now: number): boolean {
    const { lock, saga } = row;
    if (!lock) return false;
    const { status } = saga.state;
    const isUndone = status === 'compensating' && saga.state.failure?.kind === 'undone';
    // What an operator has taken as done is undone under the lock.
    const hasDone = [...saga.state.steps.values()].some((step) => step.status === 'completed');
    const begins = status === 'running' || status === 'paused' || isUndone || hasDone;
    return (isTerminal(status) || !(hasLock(row) || begins)) && this.remove(row, now);
  }

  /** Returns as `leave`. */
  remove(row: LockedRow, now: number): boolean {
    const { name } = row.saga;
    const { key } = row.lock!;
    this.takeOut(row);
    return this.handOver(name, key, now);
  }

  /**
   * A free lock goes to the next row, if that waits. The rows that ran under the hold keep the lock. Returns true if another
   * row received it and is due.
   */
  handOver(name: string, key: string, now: number): boolean {
    const queue = this.queues.get(queueKey(name, key)) ?? [];
    if (queue.some(({ lock }) => lock!.state === 'held')) return false;
    const inside = queue.find(({ lock }) => lock!.state === 'inside');
    if (inside) {
      inside.lock!.state = 'held';
      return false;
    }
    const next = this.firstOf(name, key, now);
    if (next?.lock?.state !== 'waiting') return false;
    this.hold(next, now);
    if (next.saga.state.status !== 'paused') next.saga.dueAt = now;
    return true;
  }

  private hold(row: LockedRow, now: number): void {
    grant(row, 'held', now);
    // Before one that is undone, those that it started may have been undone: they do not wait for it.
    if (row.saga.state.status === 'running') return;
    for (const { lock, saga } of this.families.descendants(row))
      if (lock?.state === 'waiting' && saga.state.status !== 'paused') saga.dueAt = now;
    this.announceDue();
  }

  /** The id of the row that holds a row's lock, or is next to; undefined: itself, or there is no lock. */
  holderFor(row: LockedRow, now: number): string | undefined {
    if (!row.lock || hasLock(row)) return undefined;
    const first = this.first(row, now);
    return first === row ? undefined : first?.saga.id;
  }

  /** The id of the row that holds this lock, or is next to; undefined: it is free. */
  holderOf(name: string, key: string, now: number): string | undefined {
    return this.firstOf(name, key, now)?.saga.id;
  }

  /** A saga that is to begin later blocks no other. */
  private first({ saga, lock }: LockedRow, now: number): LockedRow | undefined {
    return this.firstOf(saga.name, lock!.key, now);
  }

  private firstOf(name: string, key: string, now: number): LockedRow | undefined {
    const queue = this.queues.get(queueKey(name, key)) ?? [];
    const hasCome = ({ lock, saga }: LockedRow) =>
      lock!.state !== 'arriving' || (saga.dueAt! <= now && startTimeOf(saga.state, now) === undefined);
    return queue.find(({ lock }) => lock!.state === 'held') ?? queue.find(hasCome);
  }
}

function grant({ lock, saga }: LockedRow, state: 'held' | 'inside', now: number): void {
  lock!.state = state;
  if (lock!.timeout !== undefined) saga.state = { ...saga.state, deadline: now + lock!.timeout };
}

function queueOf({ saga, lock }: LockedRow): string {
  return queueKey(saga.name, lock!.key);
}

export function queueKey(name: string, key: string): string {
  return JSON.stringify([name, key]);
}
