import { type SagaGraph, stepOfKey } from '../../definition/graph/saga-graph.js';
import type { StepContext } from '../../definition/types/contexts.js';
import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { awaitsSlot, type SagaState, type StepState, stepState } from '../../machine/saga-state.js';
import { KIND } from '../../machine/data/step-kinds.js';
import { stepsOfKinds } from '../../machine/data/step-map.js';
import { NOTHING } from '../../shared/empty-array.js';
import { type FreeSlots, SLOT_KEPT_MS, type SlotHolder, type SlotLimit } from '../ports/step-slots.js';
import { failedForGood } from '../attempt/attempt-events.js';
import { keyContext, keyReturned } from '../payload/storable-key.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** A slot that a step, or an item, has taken or waits for. */
interface Slot {
  readonly limit: SlotLimit;
  readonly isTaken: boolean;
  /** The attempts that had begun before: one more has used it. */
  readonly attempts: number;
  /** When the store was asked last, by the monotonic clock; -Infinity: not in this run. */
  readonly askedAt: number;
}

/** What a step asks for. */
interface Asked {
  readonly limit: SlotLimit;
  readonly steps: string[];
}

/**
 * The slots that one run takes for its attempts, of limits over all sagas. They are taken before an attempt begins, and freed once the
 * checkpoint that ends it is stored. What waits asks again at the beginning of each run, and when the store calls.
 */
export class RunSlots {
  private readonly slots = new Map<string, Slot>();
  /** What is still to be freed, since the store could not be reached. */
  private unfreed: Parameters<FreeSlots>[] = [];
  /** When that was tried last, by the monotonic clock. */
  private triedAt = 0;
  private turn = 0;

  constructor(
    private readonly graph: SagaGraph,
    private readonly saga: Pick<StoredSaga, 'id' | 'epoch' | 'state'>,
    private readonly ports: Pick<SagaRunPorts, 'takeSlots' | 'freeSlots' | 'now' | 'clock'>,
    /** What the function of a limit's key is given. */
    private readonly contextOf: (action: Action) => StepContext,
  ) {
    for (const [step, { slot }] of this.awaiting(saga.state)) {
      const limit = this.limitOf(step, slot!.key);
      this.slots.set(step, { limit, isTaken: false, attempts: 0, askedAt: -Infinity });
    }
  }

  /** Is this an attempt that has no slot yet? */
  needs({ kind, node, key }: Action): boolean {
    return kind === 'run' && node.limit !== undefined && this.slots.get(key)?.isTaken !== true;
  }

  /**
   * Takes slots for these attempts. One whose limit has no key for it fails, and those that find no slot wait. Undefined: the lease is
   * lost.
   */
  async take(actions: readonly Action[], state: SagaState): Promise<SagaEvent[] | undefined> {
    const events: SagaEvent[] = [];
    const asked: Asked[] = [];
    for (const action of actions) {
      try {
        add(asked, this.limitOf(action.key, this.keyOf(action)), action.key);
      } catch (error) {
        events.push(...failedForGood(action.key, error, this.ports.now()));
      }
    }
    const granted = await this.ask(asked, state);
    return granted && [...events, ...granted];
  }

  /** Asks again for what waits: at the beginning of a run, when the store may have called, and now and then. */
  mayAsk(state: SagaState): boolean {
    return state.status === 'running' && this.unasked(state).length > 0;
  }

  async askAgain(state: SagaState): Promise<SagaEvent[] | undefined> {
    const asked: Asked[] = [];
    for (const [step, { slot }] of this.unasked(state)) add(asked, this.limitOf(step, slot!.key), step);
    return this.ask(asked, state);
  }

  /** The store may have called. */
  forget(): void {
    for (const [step, slot] of this.slots)
      if (!slot.isTaken) this.slots.set(step, { ...slot, askedAt: -Infinity });
  }

  /**
   * Milliseconds until it asks again without having been called, as hints may be lost, or frees what it could not free. Undefined:
   * nothing waits.
   */
  untilAsked(state: SagaState): number | undefined {
    const waits =
      state.status === 'running' ? this.awaiting(state).map(([step]) => this.timeUntilAsked(step)) : [];
    if (this.unfreed.length > 0) waits.push(this.timeUntilAfter(this.triedAt));
    return waits.length > 0 ? Math.max(0, Math.min(...waits)) : undefined;
  }

  /** Frees the slots of attempts that have ended, and ends waits that are over. @param state as it is stored */
  async freeEnded(state: SagaState): Promise<void> {
    const isAny = this.waitsForItself(state);
    if (this.unfreed.length > 0 && this.timeUntilAfter(this.triedAt) <= 0)
      await this.tryToFree(this.unfreed.splice(0));
    await this.free((entry) => this.isOver(entry, state));
    // The store drops places of a saga that does not go forward.
    if (isAny || state.status !== 'running') this.forget();
  }

  /** An attempt has ended whose slot a step of this saga waits for. */
  waitsForItself(state: SagaState): boolean {
    const ended = [...this.slots].filter((entry) => entry[1].isTaken && this.isOver(entry, state));
    return this.awaiting(state).some(([step]) => {
      const waiting = this.slots.get(step);
      return ended.some(([, { limit }]) => waiting !== undefined && isSame(limit, waiting.limit));
    });
  }

  private isOver([step, { isTaken, attempts }]: [string, Slot], state: SagaState): boolean {
    const now = stepState(state, step);
    return isTaken ? hasEnded(now, attempts, state) : !awaitsSlot(now);
  }

  /** The lease is given back: nothing is in progress. What waits keeps its place. */
  async freeAll(state: SagaState): Promise<void> {
    await this.free(([step, { isTaken }]) => isTaken || !awaitsSlot(stepState(state, step)));
  }

  /**
   * The lease may be lost: then others may have its slots. What is in progress here under a lease that is not lost keeps them for as
   * long as that.
   */
  async passOn(): Promise<void> {
    for (const { limit, isTaken } of this.slots.values())
      if (isTaken) await this.ports.freeSlots(limit, this.holder, NOTHING);
  }

  private async free(isFree: (entry: [string, Slot]) => boolean): Promise<void> {
    const freed: Asked[] = [];
    for (const entry of this.slots) if (isFree(entry)) add(freed, entry[1].limit, entry[0]);
    for (const { steps } of freed) for (const step of steps) this.slots.delete(step);
    await this.tryToFree(freed.map(({ limit, steps }) => [limit, this.holder, steps]));
  }

  /** What was taken again since is not freed: it was in a later turn. */
  private async tryToFree(freed: readonly Parameters<FreeSlots>[]): Promise<void> {
    for (const one of freed) {
      if (await this.ports.freeSlots(...one)) continue;
      this.unfreed.push(one);
      this.triedAt = this.ports.clock.monotonic();
    }
  }

  private async ask(asked: readonly Asked[], state: SagaState): Promise<SagaEvent[] | undefined> {
    const events: SagaEvent[] = [];
    for (const { limit, steps } of asked) {
      const askedAt = this.ports.clock.monotonic();
      this.turn += 1;
      const taken = await this.ports.takeSlots(limit, this.holder, steps);
      if (!taken) return undefined;
      const { key } = limit;
      for (const step of steps) {
        const isTaken = taken.includes(step);
        this.slots.set(step, { limit, isTaken, attempts: stepState(state, step).attempts, askedAt });
        if (isTaken) events.push({ type: 'slot-granted', step });
        else
          events.push({
            type: 'slot-awaited',
            step,
            ...(key !== undefined && { key }),
            now: this.ports.now(),
          });
      }
    }
    return events;
  }

  private get holder(): SlotHolder {
    const { id, epoch } = this.saga;
    return { id, epoch, turn: this.turn };
  }

  private unasked(state: SagaState): (readonly [string, StepState])[] {
    return this.awaiting(state).filter(([step]) => this.timeUntilAsked(step) <= 0);
  }

  /** One formula for both: by two that round differently, a run may wait for no time, and again, without asking. */
  private timeUntilAsked(step: string): number {
    return this.timeUntilAfter(this.slots.get(step)?.askedAt ?? -Infinity);
  }

  private timeUntilAfter(time: number): number {
    return time + SLOT_KEPT_MS - this.ports.clock.monotonic();
  }

  private keyOf(action: Action): string | undefined {
    const { key } = action.node.limit!;
    return key && keyReturned(key(keyContext(this.contextOf(action))), 'limit.key');
  }

  private limitOf(step: string, key: string | undefined): SlotLimit {
    const name = stepOfKey(step);
    const { count } = this.graph.steps.get(name)!.limit!;
    return { saga: this.graph.name, step: name, key, count };
  }

  private awaiting({ steps }: SagaState): (readonly [string, StepState])[] {
    const waits = ([key, step]: readonly [string, StepState]) =>
      awaitsSlot(step) && this.graph.steps.get(stepOfKey(key))?.limit !== undefined;
    return [...stepsOfKinds(steps, KIND.queued)].filter(waits);
  }
}

/** The attempt of the step has ended, or will not be made. */
function hasEnded({ status, active, attempts }: StepState, before: number, state: SagaState): boolean {
  const mayBegin = state.status === 'running' && (status === 'pending' || status === 'waiting');
  return !active && (attempts > before || !mayBegin);
}

function isSame(a: SlotLimit, b: SlotLimit): boolean {
  return a.step === b.step && a.key === b.key;
}

function add(asked: Asked[], limit: SlotLimit, step: string): void {
  const known = asked.find((one) => isSame(one.limit, limit));
  if (known) known.steps.push(step);
  else asked.push({ limit, steps: [step] });
}
