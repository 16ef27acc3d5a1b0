import type { SagaGraph, StepNode } from '../definition/graph/saga-graph.js';
import { descendantsOf, relationsOf } from './graph-relations.js';
import {
  isBarred,
  isDone,
  isDropped,
  isLostAttempt,
  isQueued,
  isReady,
  isUndecided,
  mayHavePassed,
  pivotPassed,
} from './predicates.js';
import { type Action, type MachineDecision, Plan, usesNoRoom } from './plan.js';
import { isClear, planUndoing } from './plan-undoing.js';
import {
  awaitsChild,
  isInProgress,
  PENDING,
  type SagaState,
  type SagaTurn,
  type StepState,
  stepState,
  changeState,
} from './saga-state.js';
import { DONE, FAILED, KIND, TIMED } from './data/step-kinds.js';
import { openSteps } from './open-steps.js';
import { startTimeOf, turnOf } from './turn.js';
import { isWaitOver } from './waits.js';
import { itemsOf, ownStepsOfKinds, stepsOfKinds } from './data/step-map.js';

const NOTHING: MachineDecision = { actions: [] };

/**
 * What comes next for a saga in this state, at this time (milliseconds since the epoch, by the database's
 * clock). Pure: the same arguments give the same decision. With no action, no attempt in progress, no
 * `settle` and no `wakeAt`, the saga is idle.
 */
export function decide(graph: SagaGraph, state: SagaState, now: number): MachineDecision {
  return planned(graph, state, new Plan(now));
}

function planned(graph: SagaGraph, state: SagaState, plan: Plan): MachineDecision {
  if (!isInProgress(state.status)) return NOTHING;
  return state.status === 'running' ? advance(graph, state, plan) : compensate(graph, state, plan);
}

function advance(graph: SagaGraph, state: SagaState, plan: Plan): MachineDecision {
  const { now } = plan;
  // While a rollback waits for a pivot, only that goes on.
  const pending = state.pendingRollback !== undefined;
  const halted = pending || isHalted(graph, state);
  if ((graph.rateLimit || state.startsAt !== undefined) && !halted) {
    const before = beforeItsTurn(graph, state, plan);
    if (before) return before;
  }
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
  const deadline = left && !halted ? deadlineOf(graph, state) : undefined;
  if (deadline !== undefined) {
    if (deadline <= now) return { actions: [], events: [{ type: 'expired', now }] };
    plan.wake(deadline);
  }
  const clear =
    !hasDropped || isClear(planUndoing(plan, graph, state, dropped(state)), graph, dropped(state));
  if (!left && clear) return { actions: [], settle: 'completed' };
  if (plan.isEmpty && !(isActive(state) || plan.waits)) {
    return { actions: [], settle: halted && suspends(graph, state) ? 'suspended' : 'stuck' };
  }
  return plan.decision();
}

/**
 * What comes next for a saga whose start time has not come, or whose rate limit has not let it begin. Undefined: it has
 * begun, or may have with a lost worker.
 */
function beforeItsTurn(graph: SagaGraph, state: SagaState, { now, lost }: Plan): MachineDecision | undefined {
  const turn = turnOf(graph, state, now);
  if (turn === 'open' || (lost && turn !== 'wait')) return undefined;
  // All of it was done by an operator.
  if (!isAnyLeft(graph, state)) return undefined;
  // An operator may have resolved the pivot of a saga that was stuck before it began.
  const deadline = deadlineOf(graph, state);
  if (deadline !== undefined && deadline <= now) return { actions: [], events: [{ type: 'expired', now }] };
  if (turn === 'begin') return { actions: [], events: [{ type: 'begun' }] };
  if (turn === 'wait') {
    const at = startTimeOf(state, now) ?? (state.turn as SagaTurn).at;
    return { actions: [], wakeAt: Math.min(at, deadline ?? Infinity) };
  }
  const [node] = graph.steps.values();
  return { actions: [{ kind: 'begin', node: node!, key: node!.name }] };
}

function isAnyLeft(graph: SagaGraph, state: SagaState): boolean {
  for (const { name } of openSteps(graph, state).nodes) {
    const step = stepState(state, name);
    if (!isDone(step) && !isDropped(step)) return true;
  }
  return false;
}

function compensate(graph: SagaGraph, state: SagaState, plan: Plan): MachineDecision {
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

/** The deadline, if it counts: not behind a pivot, and not once an operator has taken charge of the saga. */
function deadlineOf(graph: SagaGraph, state: SagaState): number | undefined {
  return state.sentOn || pivotPassed(graph, state) ? undefined : state.deadline;
}

/**
 * What may have been begun, and not recorded, by a worker that was lost at this point: all that was due. Items that wait for
 * another attempt use no room, so any number of them may have begun. Of the others, as many as there is room for, in order.
 */
export function dueWhenLost(graph: SagaGraph, state: SagaState, now: number): Action[] {
  // A deadline that has passed since did not keep it from anything.
  const { actions } = planned(graph, changeState(state, { deadline: undefined }), new Plan(now, true));
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
  if (isQueued(node, step) && !plan.lost) return plan.rest(undefined);
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
  } else if (isWaitOver(step, plan.now)) {
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
  // What waits for a slot is made due by the store.
  const rests = !plan.lost && node.limit !== undefined;
  if (rests && items.has(KIND.queued)) plan.rest(undefined);
  items.search(
    count,
    ({ kinds, dueAt }) => {
      if ((kinds & KIND.queued) !== 0 && !rests) return true;
      if (kinds & ~(NOT_STARTABLE | KIND.queued | TIMED))
        return room.left > 0 || (plan.lost && (kinds & (TIMED | KIND.waiting)) !== 0);
      return (kinds & TIMED) !== 0 && (plan.lost || room.left > 0) && plan.isTime(dueAt);
    },
    (index, given) => {
      const item = given ?? PENDING;
      if (item.active || isDone(item) || item.status === 'failed') return;
      if (rests && isQueued(node, item)) return;
      if (room.isFullFor(item)) return !plan.lost;
      if (!plan.isDue(item)) return plan.wake(item.retryAt!);
      room.take(item);
      plan.add(isLostAttempt(node, item) ? 'probe' : 'run', node, item, index);
    },
  );
}
