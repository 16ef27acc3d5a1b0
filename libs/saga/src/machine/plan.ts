import { itemKey, type StepNode } from '../definition/graph/saga-graph.js';
import type { SagaEvent } from './saga-event.js';
import type { StepState } from './saga-state.js';

/** One thing to do now. */
export interface Action {
  /**
   * `run` the step's method, `compensate` it, `expand` a fan-out (ask what over), `probe` an at-most-once step that was
   * interrupted, or begin to `await` a time or a signal (ask until when, and whether to). `cancel-child`, `undo-child`: ask a sub-saga step's saga to compensate, or to undo itself. `miss-reply`: the reply to a compensation has not come in time. `begin`: ask the rate limit of the saga when it may.
   */
  readonly kind:
    | 'run'
    | 'compensate'
    | 'expand'
    | 'probe'
    | 'await'
    | 'cancel-child'
    | 'undo-child'
    | 'miss-reply'
    | 'begin';
  readonly node: StepNode;
  /** The step's name, or the item's key. */
  readonly key: string;
  /** The index of the item. */
  readonly index?: number;
}

/** What comes next: things to do, or the status in which the saga comes to rest, or a time to look again. */
export interface MachineDecision {
  readonly actions: readonly Action[];
  /** `resumed`: what came after the savepoint is undone, the saga goes forward again. */
  readonly settle?: 'completed' | 'compensated' | 'stuck' | 'suspended' | 'resumed';
  /** What has happened by itself, and is to be recorded: delays and waits that begin, times that have passed. */
  readonly events?: readonly SagaEvent[];
  /** The earliest time at which something is due; milliseconds since the epoch. */
  readonly wakeAt?: number;
  /** What would begin, but for an operator who has paused its step. */
  readonly held?: readonly Action[];
}

/** How many more items of a fan-out may be in progress. */
export class Room {
  constructor(
    public left: number,
    private readonly lost: boolean,
  ) {}

  isFullFor(item: StepState): boolean {
    return this.left <= 0 && !(this.lost && usesNoRoom(item));
  }

  take(item: StepState): void {
    if (!(this.lost && usesNoRoom(item))) this.left -= 1;
  }
}

/** Sorts what could be done into what is due and when the rest is. */
export class Plan {
  private readonly events: SagaEvent[] = [];
  private readonly actions: Action[] = [];
  private wakeAt: number | undefined;
  private rests = false;

  constructor(
    readonly now: number,
    /** All that a lost worker may have begun, and not what is to begin. */
    readonly lost = false,
  ) {}

  roomFor({ itemsAtOnce }: StepNode, active: number): Room {
    return new Room(this.lost ? itemsAtOnce : itemsAtOnce - active, this.lost);
  }

  /** Has this time come? If not, it is one to look again. */
  isTime(at: number): boolean {
    if (at <= this.now) return true;
    this.wake(at);
    return false;
  }

  get size(): number {
    return this.actions.length;
  }

  get isEmpty(): boolean {
    return this.actions.length === 0 && this.events.length === 0;
  }

  /** Something is due later, or once a signal arrives. */
  get waits(): boolean {
    return this.rests || this.wakeAt !== undefined;
  }

  isDue(step: StepState): boolean {
    return step.retryAt === undefined || step.retryAt <= this.now;
  }

  add(kind: Action['kind'], node: StepNode, step: StepState, index?: number): void {
    if (!this.isDue(step)) return this.wake(step.retryAt!);
    this.actions.push(
      index === undefined
        ? { kind, node, key: node.name }
        : { kind, node, key: itemKey(node.name, index), index },
    );
  }

  follows(event: SagaEvent): void {
    this.events.push(event);
  }

  /** Something is waited for, at most until then. */
  rest(until: number | undefined): void {
    this.rests = true;
    if (until !== undefined) this.wake(until);
  }

  wake(at: number): void {
    this.wakeAt = Math.min(this.wakeAt ?? Infinity, at);
  }

  decision(): MachineDecision {
    const { actions, events, wakeAt } = this;
    if (wakeAt === undefined && events.length === 0) return { actions };
    return { actions, ...(events.length > 0 && { events }), ...(wakeAt !== undefined && { wakeAt }) };
  }
}

/** Among what a lost worker may have begun, it takes no place from others. */
export function usesNoRoom({ status, retryAt }: StepState): boolean {
  return status === 'waiting' || retryAt !== undefined;
}
