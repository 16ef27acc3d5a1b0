import { isTerminal } from '../../machine/saga-state.js';
import type { LockDeadlock } from '../../engine/ports/stored-saga.js';
import type { MemoryFamilies } from './memory-families.js';
import { brokenBy } from './memory-lock-circles.js';
import { hasLock, isSameLock, type MemoryRow } from './memory-row.js';

/**
 * The semantic locks: of the rows of one name with one key one holds the lock, and those that it has started, directly
 * or not, run under its hold. The others stand in line as they came.
 */
export class MemoryLockLines {
  private readonly lines = new Map<string, MemoryRow[]>();
  private places = 0;

  constructor(
    private readonly families: MemoryFamilies,
    private readonly announceDue: () => void,
  ) {}

  /** A new row takes its place. */
  arrive(row: MemoryRow): void {
    if (!row.lock) return;
    row.lock.place = this.places += 1;
    const line = this.lines.get(keyOf(row));
    if (line) line.push(row);
    else this.lines.set(keyOf(row), [row]);
  }

  /** One that had left is to be undone: it comes again, and has its old place, before all who came since. */
  comeAgain(row: MemoryRow): void {
    const { left, saga } = row;
    if (!left || row.lock || saga.state.status !== 'compensating') return;
    row.lock = { ...left, state: 'arriving' };
    saga.deadlock = undefined;
    const line = this.lines.get(keyOf(row)) ?? [];
    const at = line.findIndex(({ lock }) => lock!.place > left.place);
    this.lines.set(keyOf(row), line.toSpliced(at < 0 ? line.length : at, 0, row));
  }

  /** Is it the turn of a row that is due? If not, it waits with nothing due. */
  lineUp(row: MemoryRow, now: number): boolean {
    if (!row.lock || hasLock(row)) return true;
    if (this.families.ancestors(row).some((other) => hasLock(other) && isSameLock(other, row))) {
      grant(row, 'inside', now);
      return true;
    }
    if (this.first(row, now) === row) {
      this.hold(row, now);
      return true;
    }
    const holdersOf = (of: MemoryRow) => this.holdersOf(of);
    const broken = brokenBy(row, this.families, holdersOf);
    for (const { row: failing, deadlock } of broken) this.fail(failing, deadlock, now);
    if (broken[0]?.row === row) return true;
    row.lock.state = 'waiting';
    row.saga.dueAt = undefined;
    if (broken.length > 0) this.announceDue();
    return false;
  }

  /** The saga has left the queue. The worker that holds it lets it fail. */
  private fail(row: MemoryRow, deadlock: LockDeadlock, now: number): void {
    this.takeOut(row);
    row.saga.deadlock = deadlock;
    if (row.saga.state.status !== 'paused') row.saga.dueAt = now;
  }

  private holdersOf({ saga, lock }: MemoryRow): MemoryRow[] {
    const line = lock ? (this.lines.get(lineOf(saga.name, lock.key)) ?? []) : [];
    return line.filter(hasLock);
  }

  /** What is left of its line. */
  private takeOut(row: MemoryRow): readonly MemoryRow[] {
    const line = this.lines.get(keyOf(row))!.filter((other) => other !== row);
    if (line.length > 0) this.lines.set(keyOf(row), line);
    else this.lines.delete(keyOf(row));
    row.left = row.lock;
    row.lock = undefined;
    return line;
  }

  /** Takes a row out that is through, or will never begin. True: another got its lock, and is due. */
  leave(row: MemoryRow, now: number): boolean {
    const { lock, saga } = row;
    if (!lock) return false;
    const { status } = saga.state;
    const isUndone = status === 'compensating' && saga.state.failure?.kind === 'undone';
    const begins = status === 'running' || status === 'paused' || isUndone;
    if (!isTerminal(status) && (hasLock(row) || begins)) return false;
    return this.handOver(row, this.takeOut(row), now);
  }

  /** What a row has held is held on for those that ran under its hold; only then it is the next one's. */
  private handOver({ saga: { name }, left }: MemoryRow, line: readonly MemoryRow[], now: number): boolean {
    if (line.some(({ lock }) => lock!.state === 'held')) return false;
    const inside = line.find(({ lock }) => lock!.state === 'inside');
    if (inside) {
      inside.lock!.state = 'held';
      return false;
    }
    const next = this.firstOf(name, left!.key, now);
    if (next?.lock?.state !== 'waiting') return false;
    this.hold(next, now);
    if (next.saga.state.status !== 'paused') next.saga.dueAt = now;
    return true;
  }

  private hold(row: MemoryRow, now: number): void {
    grant(row, 'held', now);
    // Before one that is undone, those that it started may have been undone: they do not wait for it.
    if (row.saga.state.status === 'running') return;
    for (const { lock, saga } of this.families.descendants(row))
      if (lock?.state === 'waiting' && saga.state.status !== 'paused') saga.dueAt = now;
    this.announceDue();
  }

  /** The id of the row that holds a row's lock, or is next to; undefined: itself, or there is no lock. */
  holderFor(row: MemoryRow, now: number): string | undefined {
    if (!row.lock || hasLock(row)) return undefined;
    const first = this.first(row, now);
    return first === row ? undefined : first?.saga.id;
  }

  /** A saga that is to begin later blocks no other. */
  private first({ saga, lock }: MemoryRow, now: number): MemoryRow | undefined {
    return this.firstOf(saga.name, lock!.key, now);
  }

  private firstOf(name: string, key: string, now: number): MemoryRow | undefined {
    const line = this.lines.get(lineOf(name, key)) ?? [];
    const hasCome = ({ lock, saga }: MemoryRow) => lock!.state !== 'arriving' || saga.dueAt! <= now;
    return line.find(({ lock }) => lock!.state === 'held') ?? line.find(hasCome);
  }
}

function grant({ lock, saga }: MemoryRow, state: 'held' | 'inside', now: number): void {
  lock!.state = state;
  if (lock!.timeout !== undefined) saga.state = { ...saga.state, deadline: now + lock!.timeout };
}

function keyOf({ saga, lock }: MemoryRow): string {
  return lineOf(saga.name, lock!.key);
}

function lineOf(name: string, key: string): string {
  return JSON.stringify([name, key]);
}
