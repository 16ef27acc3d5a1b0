import type { SagaGraph, StepNode } from '../definition/graph/saga-graph.js';
import type { Plan } from './plan.js';
import { isLostAttempt, mayNeedUndo, needsUndo } from './predicates.js';
import { awaitsChild, awaitsReply, type SagaState, type StepState, stepState } from './saga-state.js';
import { KIND } from './data/step-kinds.js';
import { itemsOf } from './data/step-map.js';
import { isWaitOver } from './waits.js';

/**
 * Undoes in reverse: a step only once everything that depends on it, directly or through others, is clear
 * (undone, or with nothing to undo). A compensation that failed permanently blocks what it depends on, and nothing else.
 * @param concerned the steps that are to be undone, if there is anything to undo
 * @returns those that are clear
 */
export function planUndoing(
  plan: Plan,
  graph: SagaGraph,
  state: SagaState,
  concerned: (name: string) => boolean,
): ReadonlySet<string> {
  const clear = new Set<string>();
  for (const node of [...graph.steps.values()].reverse()) {
    if (!concerned(node.name)) continue;
    if (!node.dependents.every((name) => clear.has(name) || !concerned(name))) {
      // It was asked for when the step was dropped, and what depends on it has to be undone only since then.
      const step = stepState(state, node.name);
      if (awaitsReply(step)) planReply(plan, node, step);
      continue;
    }
    if (planUndoingOf(plan, state, node)) clear.add(node.name);
  }
  return clear;
}

/** True: there is nothing to undo of this step, and nothing in progress. */
function planUndoingOf(plan: Plan, state: SagaState, node: StepNode): boolean {
  const step = stepState(state, node.name);
  // Of a fan-out that has no items, an operator has taken all as done: nothing is known that could be undone.
  if (!step.items) return node.forEach ? !step.active : undo(plan, node, step);
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
  if (isWaitOver(step, plan.now)) plan.add('miss-reply', node, step);
  else plan.rest(step.wait!.until);
  return false;
}

export function isClear(
  clear: ReadonlySet<string>,
  graph: SagaGraph,
  concerned: (name: string) => boolean,
): boolean {
  for (const name of graph.steps.keys()) if (concerned(name) && !clear.has(name)) return false;
  return true;
}
