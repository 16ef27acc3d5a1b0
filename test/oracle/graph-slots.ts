import type { EventOf } from '../../libs/saga/src/machine/saga-event.js';
import { TurnHappenings } from './graph-turns.js';
import type { Book } from './model-state.js';

/** What the rules make of the slots of a step that has a limit over all sagas. */
export class SlotHappenings extends TurnHappenings {
  /** C1: it waits for one, in the place that it has already. */
  protected slotAwaited({ step, key, now }: EventOf<'slot-awaited'>): Book[] {
    const { book, rules } = this;
    const node = this.relations.node(step);
    const { phase, active, slot } = rules.life(step);
    const mayBegin = book.mode === 'running' && !rules.isDropped(node.name) && phase === 'idle' && !active;
    if (node.limit !== undefined && mayBegin && slot?.is !== 'awaited')
      this.change(step, { slot: { is: 'awaited', since: now, key }, retryAt: undefined });
    return [book];
  }

  /** C1: it may begin. */
  protected slotGranted({ step }: EventOf<'slot-granted'>): Book[] {
    const { phase, slot } = this.rules.life(step);
    if (phase === 'idle') this.change(step, { slot: { ...slot, is: 'taken' } });
    return [this.book];
  }

  /** Its attempt was not made. */
  protected withdrawn({ step }: EventOf<'start-withdrawn'>): Book[] {
    const { book, rules } = this;
    if (!this.isInProgress(step, 'running')) return [book];
    const life = rules.life(step);
    life.started -= 1;
    const isLeft = rules.goesForward(this.relations.node(step)) || life.started === 0;
    this.change(step, { phase: isLeft ? 'idle' : 'failed', active: false });
    return [book];
  }

  /** C3: the slots of a lease end with it. What waits keeps its place. */
  protected slotsFreed(): void {
    freeSlots(this.book);
  }
}

/** C3: that a slot was taken is not recorded: who has the saga next asks again. */
export function freeSlots({ lives }: Book): void {
  for (const life of lives.values()) if (life.slot?.is === 'taken') life.slot = { ...life.slot, is: 'freed' };
}
