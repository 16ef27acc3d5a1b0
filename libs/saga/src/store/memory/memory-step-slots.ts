import {
  SLOT_KEPT_MS,
  type SlotHolder,
  type SlotLimit,
  type StepSlotStore,
  type SweptSaga,
} from '../../engine/ports/step-slots.js';
import { awaitsSlot, stepState } from '../../machine/saga-state.js';
import { isWithin } from '../../shared/store-clock.js';
import type { MemoryRow } from './memory-row.js';

/**
 * A step that has a slot, waits for one, was called because one is free, or is late: it was called and did not come in time. In the
 * order of their arrival, which they keep.
 */
export interface Place {
  readonly id: string;
  readonly step: string;
  /** When it began to wait. */
  readonly since: number;
  epoch: number;
  turn: number;
  state: 'waiting' | 'called' | 'late' | 'taken';
  calledAt?: number;
}

/** How many slots there are for a place; undefined: its saga is not run here. */
type CountFor = (place: Place) => number | undefined;

/** The slots of steps with a limit over all sagas. */
export class MemoryStepSlots implements StepSlotStore {
  constructor(
    private readonly rows: ReadonlyMap<string, MemoryRow>,
    private readonly now: () => number,
    /** Makes a saga due, as one that has been since then, or lets its holder look. */
    private readonly wake: (id: string, since: number) => void,
    /** By limit. They are kept here. */
    private readonly limits = new Map<string, Place[]>(),
  ) {}

  async take(limit: SlotLimit, { id, epoch, turn }: SlotHolder, steps: readonly string[]) {
    const now = this.now();
    if (!this.isHolder(id, epoch, now)) return undefined;
    const places = this.placesOf(limit);
    const isOwn = (place: Place) => place.id === id && steps.includes(place.step);
    this.settle(places, now);
    for (const step of steps) {
      const known = places.find((place) => place.id === id && place.step === step);
      if (!known) places.push({ id, step, since: now, epoch, turn, state: 'waiting' });
      else {
        const state = known.state === 'taken' ? 'taken' : 'waiting';
        const last = known.epoch === epoch ? Math.max(known.turn, turn) : turn;
        Object.assign(known, { epoch, turn: last, state });
      }
    }
    this.promote(places, () => limit.count, now, isOwn);
    return places.filter((place) => isOwn(place) && place.state === 'taken').map(({ step }) => step);
  }

  async free(limit: SlotLimit, { id, epoch, turn }: SlotHolder, steps: readonly string[]): Promise<void> {
    const now = this.now();
    const places = this.placesOf(limit);
    const isFreed = (place: Place) =>
      place.id === id && place.epoch === epoch && place.turn <= turn && steps.includes(place.step);
    remove(places, isFreed);
    this.settle(places, now);
    this.promote(places, () => limit.count, now);
  }

  async sweep(sagas: readonly SweptSaga[]): Promise<void> {
    const now = this.now();
    for (const [limit, places] of this.limits) {
      const [name, step] = JSON.parse(limit) as [string, string];
      const versions = sagas.filter((saga) => saga.name === name);
      if (versions.length === 0) continue;
      this.fence(places, now);
      this.settle(places, now);
      const countFor = ({ id }: Place) => {
        const saga = versions.find(({ version }) => version === this.rows.get(id)?.saga.version);
        return saga && (saga.steps.get(step) ?? Infinity);
      };
      this.promote(places, countFor, now);
      if (places.length === 0) this.limits.delete(limit);
    }
  }

  /**
   * Slots of leases that are lost, and calls that no saga came for in time, do not count any more. A step that waits all the same
   * keeps its place.
   */
  private settle(places: Place[], now: number): void {
    const isLost = ({ id, epoch, state }: Place) => state === 'taken' && !this.isLeased(id, epoch);
    remove(places, (place) => isLost(place) && !this.restsFor(place));
    for (const place of places) {
      if (isLost(place)) place.state = 'waiting';
      else if (place.state === 'called' && !isWithin(place.calledAt!, SLOT_KEPT_MS, now))
        place.state = 'late';
    }
  }

  /**
   * Gives what is free to those who wait, in their order: to those who ask at once, to others by calling them. Those that are late
   * are called again if no other one waits. A slot that is kept for one that was called goes to one before it that asks.
   */
  private promote(
    places: Place[],
    countFor: CountFor,
    now: number,
    asks: (place: Place) => boolean = () => false,
  ): void {
    let used = places.filter(({ state }) => state === 'taken' || state === 'called').length;
    for (const round of ['waiting', 'late'] as const) {
      for (const place of places.filter(({ state }) => state === round)) {
        const count = countFor(place);
        if (count === undefined) continue;
        const isOwn = asks(place);
        if (used >= count) {
          if (isOwn) takeOver(places, place);
          continue;
        }
        if (isOwn) place.state = 'taken';
        else if (this.isWaiting(place)) {
          Object.assign(place, { state: 'called', calledAt: now });
          this.wake(place.id, Math.min(place.since, now));
        } else {
          places.splice(places.indexOf(place), 1);
          continue;
        }
        used += 1;
      }
    }
  }

  /** A lease that has run out, and that no worker took over, is lost: its holder learns of it. */
  private fence(places: readonly Place[], now: number): void {
    for (const { id, epoch, state } of places) {
      if (state !== 'taken' || !this.isLeased(id, epoch) || this.isHolder(id, epoch, now)) continue;
      this.rows.get(id)!.saga.epoch += 1;
    }
  }

  private isHolder(id: string, epoch: number, now: number): boolean {
    return this.isLeased(id, epoch) && this.rows.get(id)!.saga.dueAt! > now;
  }

  private isLeased(id: string, epoch: number): boolean {
    const saga = this.rows.get(id)?.saga;
    return saga?.epoch === epoch && saga.lockedBy !== undefined;
  }

  /** Whether the holder of a place asks again, or its saga rests and waits. */
  private isWaiting(place: Place): boolean {
    const saga = this.rows.get(place.id)?.saga;
    return (saga?.state.status === 'running' && saga.lockedBy !== undefined) || this.restsFor(place);
  }

  private restsFor({ id, step }: Place): boolean {
    const saga = this.rows.get(id)?.saga;
    const rests = saga?.state.status === 'running' && saga.lockedBy === undefined;
    return rests && awaitsSlot(stepState(saga.state, step));
  }

  private placesOf(limit: SlotLimit): Place[] {
    const key = limitKey(limit);
    const places = this.limits.get(key) ?? [];
    this.limits.set(key, places);
    return places;
  }
}

/** Takes the slot that is kept for the last one that was called, if that is behind this one. */
function takeOver(places: readonly Place[], place: Place): void {
  const last = places.findLast(({ state }) => state === 'called');
  if (!last || places.indexOf(last) < places.indexOf(place)) return;
  last.state = 'waiting';
  place.state = 'taken';
}

function remove(places: Place[], isGone: (place: Place) => boolean): void {
  for (let n = places.length - 1; n >= 0; n -= 1) if (isGone(places[n]!)) places.splice(n, 1);
}

/** Names a limit of a step, or of one key of it. */
export function limitKey({ saga, step, key = '' }: Omit<SlotLimit, 'count'>): string {
  return JSON.stringify([saga, step, key]);
}
