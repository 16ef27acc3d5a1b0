import {
  type ClaimRequest,
  type MemoryRow,
  rank,
  sizeOf,
  SMALL_SAGA,
} from 'nestjs-durable-saga/internal/backend';
import { dueAtOf } from './kept-saga.js';
import type { News } from './objects.js';

/** Offers that are kept at most. The oldest ones are dropped, and made again. */
const MOST = 10_000;
/**
 * A saga that was offered is offered again after so long (ms), perhaps to another process. One that keeps it takes it once it has
 * room, if it is not killed before.
 */
const KEPT_FOR = 2_000;
/** If the process is ending: the next one may be there by then. */
const CLOSED_FOR = 500;
/** So much longer (ms) for each offer that it has or had, so that those that are made again are at most 50 in a second. */
const LONGER_WITH_EACH = 20;
const LONGEST = 30_000;
/**
 * If the process does not run such sagas, or has not begun: a quarter of the time for which the saga has been due. One of several
 * processes is found soon, and a saga that none of them runs costs little.
 */
const REFUSED_FOR = { least: 50, most: 60_000, share: 4 };

export interface Offer {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly rank: number;
  readonly limitKey?: string;
  /** Larger than SMALL_SAGA. */
  readonly isLarge: boolean;
}

/** The due sagas that Restate has offered to this process. */
export class Offers {
  private readonly due = new Map<string, Offer>();
  /** The overdue sagas, by their ids. */
  private readonly late = new Map<string, { readonly name: string; readonly slaAt: number }>();
  /** The sagas that the last claim asked for. Undefined: there was none. */
  private asked: ClaimRequest['sagas'] | undefined;
  /** How many offers it had when it ended. Undefined: it goes on. */
  private left: number | undefined;

  /**
   * Returns after how long (ms) it is to be offered again.
   * @param now by the clock by which it was to be looked at: that of this process may be behind it
   */
  add({ due, overdue, now }: Pick<News, 'due' | 'overdue' | 'now'>): number {
    if (this.left !== undefined) return longer(CLOSED_FOR, this.left);
    if (overdue !== undefined && this.late.size < MOST) {
      const { id, name, slaAt = 0 } = overdue.saga;
      this.late.set(id, { name, slaAt });
    }
    if (due !== undefined && !this.addDue(due)) {
      const since = now - (dueAtOf(due) ?? Infinity);
      return Math.min(REFUSED_FOR.most, Math.max(REFUSED_FOR.least, since / REFUSED_FOR.share));
    }
    return longer(KEPT_FOR, this.due.size);
  }

  /** False: as far as is known, the saga is not run here. */
  private addDue(row: MemoryRow): boolean {
    const { id, name, version, limitKey } = row.saga;
    const isLarge = sizeOf(row) > SMALL_SAGA;
    const offer = { id, name, version, limitKey, rank: rank(row), isLarge };
    this.due.set(id, offer);
    if (this.due.size > MOST) this.due.delete(this.due.keys().next().value!);
    return this.asked !== undefined && isAsked(offer, this.asked);
  }

  /** Takes no more offers. Returns the sagas that others have to be offered. */
  close(): string[] {
    const left = [...new Set([...this.due.keys(), ...this.late.keys()])];
    this.left ??= left.length;
    this.due.clear();
    this.late.clear();
    return left;
  }

  addAgain(offer: Offer): void {
    this.due.set(offer.id, offer);
  }

  /** Takes the most urgent ones that a claim asks for. @param onlySmall no large sagas */
  take({ sagas, limit }: Pick<ClaimRequest, 'sagas' | 'limit'>, onlySmall = false): Offer[] {
    this.asked = sagas;
    const asked = [...this.due.values()].filter(
      (offer) => isAsked(offer, sagas) && !(onlySmall && offer.isLarge),
    );
    const taken = asked.sort((one, other) => one.rank - other.rank).slice(0, limit);
    for (const { id } of taken) this.due.delete(id);
    return taken;
  }

  /** Whether one is left that such a claim asks for. */
  hasFor(sagas: ClaimRequest['sagas']): boolean {
    for (const offer of this.due.values()) if (isAsked(offer, sagas)) return true;
    return false;
  }

  /** Takes those that have been overdue for longest. */
  takeOverdue(names: readonly string[], count: number): string[] {
    const asked = [...this.late].filter(([, { name }]) => names.includes(name));
    const longest = asked.sort(([, one], [, other]) => one.slaAt - other.slaAt).slice(0, count);
    const ids = longest.map(([id]) => id);
    for (const id of ids) this.late.delete(id);
    return ids;
  }
}

function longer(time: number, offers: number): number {
  return Math.min(LONGEST, time + offers * LONGER_WITH_EACH);
}

function isAsked({ name, version }: Offer, sagas: ClaimRequest['sagas']): boolean {
  return sagas.some((saga) => saga.name === name && saga.version === version);
}
