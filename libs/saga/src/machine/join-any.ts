import { itemKey, type SagaGraph, type StepNode } from '../definition/graph/saga-graph.js';
import { isDone, isRace, needsUndo } from './predicates.js';
import { descendantsOf, relationsOf } from './graph-relations.js';
import { awaitsChild, type SagaState, stepState } from './saga-state.js';
import { giveUp, withStep } from './step-changes.js';

/** A step has completed: the joins that race it against others, and were not won yet, are won by it. */
export function winRaces(graph: SagaGraph, state: SagaState, winner: string): SagaState {
  if (!relationsOf(graph).hasJoinAny || stepState(state, winner).pruned) return state;
  let next = state;
  for (const name of graph.steps.get(winner)!.dependents) {
    if (isRace(graph.steps.get(name)!) && stepState(next, name).wonBy === undefined) {
      next = withStep(next, name, { wonBy: winner });
    }
  }
  return next === state ? state : pruneLosers(graph, next);
}

/** The state after a step has failed in a branch that others can stand in for; undefined: nothing can. */
export function tolerate(graph: SagaGraph, state: SagaState, failed: string): SagaState | undefined {
  if (!relationsOf(graph).hasJoinAny) return undefined;
  const lost = new Set([failed]);
  const isLost = (name: string) => lost.has(name) || stepState(state, name).pruned;
  for (const node of graph.steps.values()) {
    const isDecided = isRace(node) && stepState(state, node.name).wonBy !== undefined;
    if (!isDecided && neverBegins(node, isLost)) lost.add(node.name);
    if (lost.has(node.name) && node.dependents.length === 0) return undefined;
  }
  let next = state;
  for (const name of lost) next = prune(graph, next, name);
  return pruneLosers(graph, next);
}

/** After a return: what is to happen again, but waits for a step outside that was pruned, never can. */
export function pruneAgain(graph: SagaGraph, state: SagaState, region: ReadonlySet<string>): SagaState {
  let next = state;
  const isPruned = (name: string) => stepState(next, name).pruned;
  for (const node of graph.steps.values()) {
    if (region.has(node.name) && neverBegins(node, isPruned)) next = prune(graph, next, node.name);
  }
  return next;
}

/** What it waits for is lost: of a race all, otherwise any. */
function neverBegins(node: StepNode, isLost: (name: string) => boolean): boolean {
  return isRace(node) ? node.after.every(isLost) : node.after.some(isLost);
}

/** Cuts every step that nothing needs any more, backward from the joins that are decided. */
export function pruneLosers(graph: SagaGraph, state: SagaState): SagaState {
  const { rollbackTo } = state;
  const region = rollbackTo === undefined ? undefined : descendantsOf(graph, rollbackTo);
  let next = state;
  for (const node of [...graph.steps.values()].reverse()) {
    if (stepState(next, node.name).pruned || node.dependents.length === 0) continue;
    const needed = node.dependents.some(
      // What is gone back behind is gone through again, or undone with all the rest: that is decided then.
      (name) =>
        (region?.has(name) && !stepState(next, name).pruned) ||
        needs(next, graph.steps.get(name)!, node.name),
    );
    if (!needed) next = prune(graph, next, node.name);
  }
  return next;
}

function needs(state: SagaState, dependent: StepNode, name: string): boolean {
  const { pruned: isPruned, wonBy } = stepState(state, dependent.name);
  return !isPruned && (!isRace(dependent) || wonBy === undefined || wonBy === name);
}

/**
 * What has not begun never will; what is in progress settles, and is undone like what has completed. One that waits for its next
 * attempt has failed if that is to be compensated.
 */
function prune(graph: SagaGraph, state: SagaState, name: string): SagaState {
  const { items } = stepState(state, name);
  const keys = items?.map((_, index) => itemKey(name, index)) ?? [];
  const next = keys.reduce(giveUp, state);
  const step = stepState(next, name);
  const idle = (step.status === 'pending' || step.status === 'waiting') && !step.active;
  const left = withStep(giveUp(next, name), name, { pruned: true });
  const isFailure = step.unknown || needsUndo(graph.steps.get(name)!, stepState(left, name));
  if (!idle || isFailure || awaitsChild(step)) return left;
  const status = 'skipped';
  return withStep(next, name, { status, retryAt: undefined, wait: undefined, slot: undefined, pruned: true });
}

/** These are needed after all, and so is what they came after, as far as it was not undone. */
export function uncut(graph: SagaGraph, state: SagaState, names: readonly string[]): SagaState {
  let next = state;
  for (const name of names) {
    const { pruned: isPruned, wonBy } = stepState(next, name);
    if (!isPruned) continue;
    const node = graph.steps.get(name)!;
    next = withStep(next, name, { pruned: false });
    const needed = node.after.filter((entry) => !isRace(node) || wonBy === undefined || wonBy === entry);
    next = uncut(
      graph,
      next,
      needed.filter((entry) => isDone(stepState(state, entry))),
    );
  }
  return next;
}
