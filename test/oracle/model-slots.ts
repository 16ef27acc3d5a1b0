import type { Action } from '../../libs/saga/src/machine/plan.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import { awaitsSlot, type SagaState } from '../../libs/saga/src/machine/saga-state.js';
import type { Move } from './random-graph.js';

/**
 * The slots of one saga's steps with a limit over all sagas, as its worker holds them. Other sagas take and free the
 * others: whether one is free is left to chance.
 */
export class PlayedSlots {
  private readonly taken = new Set<string>();

  /** Is this an attempt that has to ask for a slot first? */
  needs({ kind, node, key }: Action): boolean {
    return kind === 'run' && node.limit !== undefined && !this.taken.has(key);
  }

  /** The answer to a step that asks. Undefined: its limit has no key for it. */
  ask({ node, key: step }: Action, { pick }: Move, now: number): SagaEvent | undefined {
    if (node.limit!.key && pick % 16 === 15) return undefined;
    return this.answer(step, keyOf(step, node.limit!.key), pick % 7 < 2, now);
  }

  /** The answers to what waits, which asks again. The first to ask has a slot at last, or others may have got it. */
  askAgain(state: SagaState, { pick }: Move, now: number): SagaEvent[] {
    return waitingForSlots(state).map(([step, key], index) =>
      this.answer(step, key, (pick + index) % 3 === 0, now),
    );
  }

  /** The lease is given back, or lost. */
  freeAll(): void {
    this.taken.clear();
  }

  /** What has begun uses its slot; what is not to begin any more frees it. */
  happened(event: SagaEvent, { status }: SagaState): void {
    if (status !== 'running') this.freeAll();
    else if (event.type === 'step-started') this.taken.delete(event.step);
  }

  private answer(step: string, key: string | undefined, isFree: boolean, now: number): SagaEvent {
    if (isFree) this.taken.add(step);
    return isFree
      ? { type: 'slot-granted', step }
      : { type: 'slot-awaited', step, ...(key !== undefined && { key }), now };
  }
}

/** The steps, and items, that wait for a slot, each with the key of its limit. */
export function waitingForSlots({ status, steps }: SagaState): [step: string, key: string | undefined][] {
  if (status !== 'running') return [];
  return [...steps].flatMap(([name, step]) => (awaitsSlot(step) ? [[name, step.slot!.key]] : []));
}

/** Items have keys of their own. */
function keyOf(step: string, key: unknown): string | undefined {
  return key === undefined ? undefined : `of ${step}`;
}
