import { isTerminal } from '../../machine/saga-state.js';
import type { MemoryRow } from './memory-row.js';

/** The semantic locks: of the rows of one name with one key one is active, the others stand in line as they came. */
export class MemoryLockLines {
  private readonly lines = new Map<string, MemoryRow[]>();
  private places = 0;

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
    const line = this.lines.get(keyOf(row)) ?? [];
    const at = line.findIndex(({ lock }) => lock!.place > left.place);
    this.lines.set(keyOf(row), line.toSpliced(at < 0 ? line.length : at, 0, row));
  }

  /** Is it the turn of a row that is due? If not, it waits with nothing due. */
  lineUp(row: MemoryRow, now: number): boolean {
    if (!row.lock || row.lock.state === 'held') return true;
    if (this.first(row, now) === row) {
      grant(row, now);
      return true;
    }
    row.lock.state = 'waiting';
    row.saga.dueAt = undefined;
    return false;
  }

  /** Takes a row out that is through, or will never begin. True: another got its lock, and is due. */
  leave(row: MemoryRow, now: number): boolean {
    const { lock, saga } = row;
    if (!lock) return false;
    const { status } = saga.state;
    const isUndone = status === 'compensating' && saga.state.failure?.kind === 'undone';
    const begins = status === 'running' || status === 'paused' || isUndone;
    if (!isTerminal(status) && (lock.state === 'held' || begins)) return false;
    const line = this.lines.get(keyOf(row))!.filter((other) => other !== row);
    if (line.length > 0) this.lines.set(keyOf(row), line);
    else this.lines.delete(keyOf(row));
    const next = this.first(row, now);
    row.left = lock;
    row.lock = undefined;
    if (next?.lock?.state !== 'waiting') return false;
    grant(next, now);
    if (next.saga.state.status !== 'paused') next.saga.dueAt = now;
    return true;
  }

  /** The id of the row that holds a row's lock, or is next to; undefined: itself, or there is no lock. */
  holderFor(row: MemoryRow, now: number): string | undefined {
    if (!row.lock) return undefined;
    const first = this.first(row, now);
    return first === row ? undefined : first?.saga.id;
  }

  /** One that is to begin later holds up nobody. */
  private first(row: MemoryRow, now: number): MemoryRow | undefined {
    const line = this.lines.get(keyOf(row)) ?? [];
    const hasCome = ({ lock, saga }: MemoryRow) => lock!.state !== 'arriving' || saga.dueAt! <= now;
    return line.find(({ lock }) => lock!.state === 'held') ?? line.find(hasCome);
  }
}

function grant({ lock, saga }: MemoryRow, now: number): void {
  lock!.state = 'held';
  if (lock!.timeout !== undefined) saga.state = { ...saga.state, deadline: now + lock!.timeout };
}

function keyOf({ saga, lock }: MemoryRow): string {
  return JSON.stringify([saga.name, lock!.key]);
}
