import { itemKey, type SagaGraph, type StepNode } from '../definition/graph/saga-graph.js';
import { descendantsOf, relationsOf } from './graph-relations.js';
import {
  isBarred,
  isDone,
  isDropped,
  isLostAttempt,
  isReady,
  isUndecided,
  mayHavePassed,
  mayNeedUndo,
  needsUndo,
  pivotPassed,
} from './predicates.js';
import type { SagaEvent } from './saga-event.js';
import {
  awaitsChild,
  awaitsReply,
  isSettled,
  PENDING,
  type SagaState,
  type StepState,
  stepState,
} from './saga-state.js';
import { DONE, FAILED, KIND, TIMED } from './step-kinds.js';
import { openSteps } from './open-steps.js';
import { itemsOf, ownStepsOfKinds, stepsOfKinds } from './step-map.js';

/** One thing to do now. */
export interface Action {
  /**
   * `run` the step's method, `compensate` it, `expand` a fan-out (ask what over), `probe` an at-most-once step that was
   * interrupted, or begin to `await` a time or a signal (ask until when, and whether to). `cancel-child`, `undo-child`: ask a sub-saga step's saga to compensate, or to undo itself. `miss-reply`: the reply to a compensation has not come in time.
   */
  readonly kind:
    'run' | 'compensate' | 'expand' | 'probe' | 'await' | 'cancel-child' | 'undo-child' | 'miss-reply';
  readonly node: StepNode;
  /** The step's name, or the item's key. */
  readonly key: string;
  /** The index of the item. */
  readonly index?: number;
}

/** What comes next: things to do, or the status in which the saga comes to rest, or a time to look again. */
export interface Decision {
  readonly actions: readonly Action[];
  /** `resumed`: what came after the savepoint is undone, the saga goes forward again. */
  readonly settle?: 'completed' | 'compensated' | 'stuck' | 'suspended' | 'resumed';
  /** What has come to be by itself, and is to be recorded: delays and waits that begin, times that have passed. */
  readonly events?: readonly SagaEvent[];
  /** The earliest time at which something is due; milliseconds since the epoch. */
  readonly wakeAt?: number;
}

const NOTHING: Decision = { actions: [] };

/**
 * What comes next for a saga in this state, at this time (milliseconds since the epoch, by the database's
 * clock). Pure: the same arguments give the same decision. With no action, no attempt in progress, no
 * `settle` and no `wakeAt`, the saga is idle.
 */
export function decide(graph: SagaGraph, state: SagaState, now: number): Decision {
  return planned(graph, state, new Plan(now));
}

function planned(graph: SagaGraph, state: SagaState, plan: Plan): Decision {
  if (isSettled(state.status) || state.status === 'paused') return NOTHING;
  return state.status === 'running' ? advance(graph, state, plan) : compensate(graph, state, plan);
}

function advance(graph: SagaGraph, state: SagaState, plan: Plan): Decision {
  const { now } = plan;
  // While a rollback waits for a pivot, only that goes on.
  const pending = state.pendingRollback !== undefined;
  const halted = pending || isHalted(graph, state);
  const open = openSteps(graph, state);
  let left = false;
  let hasDropped = !open.isAll && relationsOf(graph).hasJoinAny;
  for (const node of open.nodes) {
    const step = stepState(state, node.name);
    if (isDropped(step)) {
      hasDropped = true;
      continue;
    }
    if (isDone(step)) continue;
    left = true;
    if (pending && isUndecided(node, step)) planPivot(plan, state, node, step);
    else if (!halted && isReady(state, node, step)) planStep(plan, state, node, step);
  }
  if (left && !halted && state.deadline !== undefined && !pivotPassed(graph, state)) {
    if (state.deadline <= now) return { actions: [], events: [{ type: 'expired', now }] };
    plan.wake(state.deadline);
  }
  const clear =
    !hasDropped || isClear(planUndoing(plan, graph, state, dropped(state)), graph, dropped(state));
  if (!left && clear) return { actions: [], settle: 'completed' };
  if (plan.isEmpty && !(isActive(state) || plan.waits)) {
    return { actions: [], settle: halted && suspends(graph, state) ? 'suspended' : 'stuck' };
  }
  return plan.decision();
}

function compensate(graph: SagaGraph, state: SagaState, plan: Plan): Decision {
  const { rollbackTo } = state;
  const region = rollbackTo === undefined ? undefined : descendantsOf(graph, rollbackTo);
  const undone = (name: string) => region === undefined || region.has(name);
  // Before an operator has said what became of the pivot, nothing is compensated: the saga may have to go forward.
  if (relationsOf(graph).pivots.some((name) => undone(name) && isBarred(graph, state, name)))
    return isActive(state) ? NOTHING : { actions: [], settle: 'stuck' };
  const clear = planUndoing(plan, graph, state, (name) => undone(name) || isDropped(stepState(state, name)));
  if (isClear(clear, graph, undone)) return { actions: [], settle: region ? 'resumed' : 'compensated' };
  if (plan.isEmpty && !plan.waits && !isActive(state)) return { actions: [], settle: 'stuck' };
  return plan.decision();
}

/**
 * What may have been begun, and not recorded, by a worker that was lost at this point: all that was due. Items that wait for
 * another attempt use no room, so any number of them may have begun. Of the others, as many as there is room for, in order.
 */
export function dueWhenLost(graph: SagaGraph, state: SagaState, now: number): Action[] {
  // A deadline that has passed since did not keep it from anything.
  const { actions } = planned(graph, { ...state, deadline: undefined }, new Plan(now, true));
  const isItem = ({ index }: Action) => index !== undefined;
  if (!actions.some(isItem)) return [...actions];
  const waits = ({ key }: Action) => usesNoRoom(stepState(state, key));
  const items = actions.filter(isItem);
  const waitingFirst = [...items.filter(waits), ...items.filter((action) => !waits(action))];
  const { places } = relationsOf(graph);
  const placeOf = ({ node }: Action) => places.get(node.name)!;
  return [
    ...actions.filter((action) => !isItem(action)),
    ...waitingFirst.sort((a, b) => placeOf(a) - placeOf(b)),
  ];
}

/** Among what a lost worker may have begun, it takes no place from others. */
function usesNoRoom({ status, retryAt }: StepState): boolean {
  return status === 'waiting' || retryAt !== undefined;
}

/** A step failed permanently and the saga does not compensate for it: nothing begins any more. */
function isHalted(graph: SagaGraph, { steps }: SagaState): boolean {
  for (const [key, step] of ownStepsOfKinds(steps, FAILED))
    if (step.status === 'failed' && !isDropped(step) && graph.steps.has(key)) return true;
  return false;
}

function suspends(graph: SagaGraph, state: SagaState): boolean {
  if (graph.onFailure !== 'suspend' || pivotPassed(graph, state)) return false;
  return !relationsOf(graph).pivots.some((name) =>
    mayHavePassed(graph.steps.get(name)!, stepState(state, name)),
  );
}

/** Something is in progress, here or in another saga. */
function isActive(state: SagaState): boolean {
  for (const [, step] of stepsOfKinds(state.steps, KIND.active | KIND.waiting | KIND.compensating))
    if (step.active || awaitsChild(step)) return true;
  return false;
}

function dropped(state: SagaState): (name: string) => boolean {
  return (name) => isDropped(stepState(state, name));
}

function planStep(plan: Plan, state: SagaState, node: StepNode, step: StepState): void {
  if (step.items) return planItems(plan, state, node, step.items.length);
  if (step.active || awaitsChild(step)) return;
  if (isLostAttempt(node, step)) plan.add('probe', node, step);
  else if (node.delay !== undefined && step.status === 'pending' && step.attempts === 0)
    plan.follows({ type: 'delay-started', step: node.name, until: plan.now + node.delay });
  // Until when is asked first.
  else if (node.delayOf !== undefined && step.status === 'pending' && step.attempts === 0)
    plan.add('await', node, step);
  else if (node.wait !== undefined && step.wait?.takenSignal === undefined) planWait(plan, node, step);
  else plan.add(node.forEach ? 'expand' : 'run', node, step);
}

/** A pivot whose outcome decides whether the saga rolls back. Its sub-saga is asked to roll back, and decides. */
function planPivot(plan: Plan, state: SagaState, node: StepNode, step: StepState): void {
  if (awaitsChild(step) && step.child!.phase === 'running') plan.add('cancel-child', node, step);
  else planStep(plan, state, node, step);
}

function planWait(plan: Plan, node: StepNode, step: StepState): void {
  const { wait } = step;
  if (wait === undefined) {
    if (!plan.isDue(step)) plan.wake(step.retryAt!);
    // Whether it is to be waited at all, and how long.
    else if (node.when || node.wait!.timeoutOf) plan.add('await', node, step);
    else plan.follows({ type: 'wait-started', step: node.name, now: plan.now });
  } else if (wait.until !== undefined && wait.until <= plan.now) {
    plan.follows({ type: 'wait-expired', step: node.name, now: plan.now });
  } else {
    plan.rest(wait.until);
  }
}

/** The kinds of which an item does not begin, whatever the time. */
const NOT_STARTABLE = DONE | FAILED | KIND.active;

function planItems(plan: Plan, state: SagaState, node: StepNode, count: number): void {
  const items = itemsOf(state.steps, node.name);
  const room = plan.roomFor(node, items.activeBefore(count));
  items.search(
    count,
    ({ kinds, dueAt }) => {
      if (kinds & ~(NOT_STARTABLE | TIMED))
        return room.left > 0 || (plan.lost && (kinds & (TIMED | KIND.waiting)) !== 0);
      return (kinds & TIMED) !== 0 && (plan.lost || room.left > 0) && plan.isTime(dueAt);
    },
    (index, given) => {
      const item = given ?? PENDING;
      if (item.active || isDone(item) || item.status === 'failed') return;
      if (room.isFullFor(item)) return !plan.lost;
      if (!plan.isDue(item)) return plan.wake(item.retryAt!);
      room.take(item);
      plan.add(isLostAttempt(node, item) ? 'probe' : 'run', node, item, index);
    },
  );
}

/**
 * Undoes in reverse: a step only once everything that depends on it, directly or through others, is clear
 * (undone, or with nothing to undo). A compensation that failed permanently blocks what it depends on, and nothing else.
 * @param concerned the steps that are to be undone, if there is anything to undo
 * @returns those that are clear
 */
function planUndoing(
  plan: Plan,
  graph: SagaGraph,
  state: SagaState,
  concerned: (name: string) => boolean,
): ReadonlySet<string> {
  const clear = new Set<string>();
  for (const node of [...graph.steps.values()].reverse()) {
    if (!concerned(node.name)) continue;
    if (!node.dependents.every((name) => clear.has(name) || !concerned(name))) continue;
    if (planUndoingOf(plan, state, node)) clear.add(node.name);
  }
  return clear;
}

/** True: there is nothing to undo of this step, and nothing in progress. */
function planUndoingOf(plan: Plan, state: SagaState, node: StepNode): boolean {
  const step = stepState(state, node.name);
  if (!step.items) return undo(plan, node, step);
  let clear = !step.active && step.status !== 'compensation_failed';
  const items = itemsOf(state.steps, node.name);
  const room = plan.roomFor(node, items.activeBefore(step.items.length));
  const concerned = mayNeedUndo(node);
  items.search(
    step.items.length,
    ({ kinds, dueAt }) => {
      if (kinds & concerned & ~(KIND.timedBack | KIND.compensationFailed)) return true;
      if (!(kinds & concerned)) return false;
      clear = false;
      return (kinds & KIND.timedBack) !== 0 && (plan.lost || room.left > 0) && plan.isTime(dueAt);
    },
    (index, item) => {
      if (item === undefined) return;
      if (room.isFullFor(item)) {
        if (item.active || !isClearItem(node, item)) clear = false;
        // Of the others nothing makes a difference.
        return !clear && !plan.lost;
      }
      const before = plan.size;
      if (!undo(plan, node, item, index)) clear = false;
      if (plan.size > before) room.take(item);
    },
  );
  return clear;
}

function isClearItem(node: StepNode, item: StepState): boolean {
  return (
    item.status !== 'compensating' &&
    item.status !== 'compensation_failed' &&
    !needsUndo(node, item) &&
    !isLostAttempt(node, item)
  );
}

function undo(plan: Plan, node: StepNode, step: StepState, index?: number): boolean {
  if (step.active) return false;
  if (awaitsChild(step)) {
    if (step.child!.phase === 'running') plan.add('cancel-child', node, step, index);
    return false;
  }
  if (awaitsReply(step)) return planReply(plan, node, step);
  if (isLostAttempt(node, step)) plan.add('probe', node, step, index);
  else if (step.status === 'compensating' || needsUndo(node, step))
    plan.add(step.child?.phase === 'ended' ? 'undo-child' : 'compensate', node, step, index);
  else return step.status !== 'compensation_failed';
  return false;
}

/** What was asked for is not done before the participant says so. */
function planReply(plan: Plan, node: StepNode, step: StepState): boolean {
  const { until } = step.wait!;
  if (until !== undefined && until <= plan.now) plan.add('miss-reply', node, step);
  else plan.rest(until);
  return false;
}

function isClear(
  clear: ReadonlySet<string>,
  graph: SagaGraph,
  concerned: (name: string) => boolean,
): boolean {
  for (const name of graph.steps.keys()) if (concerned(name) && !clear.has(name)) return false;
  return true;
}

/** How many more items of a fan-out may be in progress. */
class Room {
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
class Plan {
  private readonly events: SagaEvent[] = [];
  private readonly actions: Action[] = [];
  private wakeAt: number | undefined;
  private rests = false;

  constructor(
    readonly now: number,
    /** All that a lost worker may have begun, and not what is to begin. */
    readonly lost = false,
  ) {}

  roomFor({ concurrency }: StepNode, active: number): Room {
    return new Room(this.lost ? concurrency : concurrency - active, this.lost);
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

  decision(): Decision {
    const { actions, events, wakeAt } = this;
    if (wakeAt === undefined && events.length === 0) return { actions };
    return { actions, ...(events.length > 0 && { events }), ...(wakeAt !== undefined && { wakeAt }) };
  }
}
