import {
  type LimitedSteps,
  SLOT_KEPT_MS,
  type SlotHolder,
  type SlotLimit,
  type StepSlotStore,
} from '../../engine/ports/step-slots.js';
import { awaitsSlot, stepState } from '../../machine/saga-state.js';
import type { MemoryRow } from './memory-row.js';

/** A step that has a slot, waits for one, or was called because one is free. In the order of their arrival. */
interface Place {
  readonly id: string;
  readonly step: string;
  epoch: number;
  turn: number;
  state: 'waiting' | 'called' | 'taken';
  calledAt?: number;
}

/** The slots of steps with a limit over all sagas. */
export class MemoryStepSlots implements StepSlotStore {
  private readonly limits = new Map<string, Place[]>();

  constructor(
    private readonly rows: ReadonlyMap<string, MemoryRow>,
    private readonly now: () => number,
    /** Makes a saga due, or lets its holder look. */
    private readonly wake: (id: string, now: number) => void,
  ) {}

  async take(limit: SlotLimit, { id, epoch, turn }: SlotHolder, steps: readonly string[]) {
    const now = this.now();
    if (!this.isHolder(id, epoch, now)) return undefined;
    const places = this.placesOf(limit);
    const own = (place: Place) => place.id === id && steps.includes(place.step);
    // Also one that comes late, if no other was called since.
    for (const place of places.filter((one) => own(one) && one.state === 'called'))
      Object.assign(place, { state: 'taken', epoch, turn });
    this.purge(places, now);
    for (const step of steps) {
      const known = places.find((place) => place.id === id && place.step === step);
      if (!known) places.push({ id, step, epoch, turn, state: 'waiting' });
      else Object.assign(known, { epoch, turn: known.epoch === epoch ? Math.max(known.turn, turn) : turn });
    }
    this.promote(places, limit.count, now, own);
    return places.filter((place) => own(place) && place.state === 'taken').map(({ step }) => step);
  }

  async free(limit: SlotLimit, { id, epoch, turn }: SlotHolder, steps: readonly string[]): Promise<void> {
    const now = this.now();
    const places = this.placesOf(limit);
    const isFreed = (place: Place) =>
      place.id === id && place.epoch === epoch && place.turn <= turn && steps.includes(place.step);
    remove(places, isFreed);
    this.purge(places, now);
    this.promote(places, limit.count, now);
  }

  async sweep(limits: ReadonlyMap<string, LimitedSteps>): Promise<void> {
    const now = this.now();
    for (const [limit, places] of this.limits) {
      const [saga, step] = JSON.parse(limit) as [string, string];
      const steps = limits.get(saga);
      if (!steps) continue;
      this.fence(places, now);
      this.purge(places, now);
      this.promote(places, steps.get(step) ?? Infinity, now);
      if (places.length === 0) this.limits.delete(limit);
    }
  }

  /** Drops the slots of leases that are lost, and calls to which no saga came. */
  private purge(places: Place[], now: number): void {
    remove(places, ({ id, epoch, state, calledAt }) =>
      state === 'taken' ? !this.isLeased(id, epoch) : state === 'called' && calledAt! <= now - SLOT_KEPT_MS,
    );
  }

  /** Gives what is free to those who wait, in their order: to those who ask at once, to others by calling them. */
  private promote(
    places: Place[],
    count: number,
    now: number,
    asks: (place: Place) => boolean = () => false,
  ) {
    let free = count - places.filter(({ state }) => state !== 'waiting').length;
    for (const place of places.filter(({ state }) => state === 'waiting')) {
      if (free <= 0) return;
      if (asks(place)) place.state = 'taken';
      else if (this.isWaiting(place)) {
        Object.assign(place, { state: 'called', calledAt: now });
        this.wake(place.id, now);
      } else {
        places.splice(places.indexOf(place), 1);
        continue;
      }
      free -= 1;
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

  /** Its holder asks again, or it rests and waits. */
  private isWaiting({ id, step }: Place): boolean {
    const saga = this.rows.get(id)?.saga;
    if (saga?.state.status !== 'running') return false;
    return saga.lockedBy !== undefined || awaitsSlot(stepState(saga.state, step));
  }

  private placesOf({ saga, step, key }: SlotLimit): Place[] {
    const limit = JSON.stringify([saga, step, key ?? '']);
    const places = this.limits.get(limit) ?? [];
    this.limits.set(limit, places);
    return places;
  }
}

function remove(places: Place[], isGone: (place: Place) => boolean): void {
  for (let n = places.length - 1; n >= 0; n -= 1) if (isGone(places[n]!)) places.splice(n, 1);
}
