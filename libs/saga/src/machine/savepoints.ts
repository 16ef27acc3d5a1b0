import { type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import type { SagaFailure } from '../definition/types/saga-failure.js';
import { hasPassed, isDropped, isRace, mayHavePassed } from './predicates.js';
import { descendantsOf, relationsOf } from './graph-relations.js';
import { undecidedPivot, withoutPending } from './pivots.js';
import { pruneAgain, pruneLosers, winRaces } from './join-any.js';
import { ALL } from './data/step-kinds.js';
import { PENDING, type SagaState, isKept, stepState, changeState, changeStep } from './saga-state.js';
import { GIVES_UP, giveUpWaiting, mapSteps, putStep, withStep } from './step-changes.js';

/** The savepoint from which the saga may go forward again after this step's failure: the last of its ancestors. */
export function savepointFor(graph: SagaGraph, state: SagaState, failed: string): string | undefined {
  return relationsOf(graph).savepoints.findLast(
    (name) => descendantsOf(graph, name).has(failed) && mayReturnTo(graph, state, name),
  );
}

/** Would a failure after this savepoint lead back to it? */
export function mayReturnTo(graph: SagaGraph, state: SagaState, savepoint: string): boolean {
  const { status, pruned, returns } = stepState(state, savepoint);
  const { attempts } = graph.steps.get(savepoint)!.savepoint!;
  if (status !== 'completed' || pruned || returns >= attempts - 1) return false;
  const after = descendantsOf(graph, savepoint);
  // What lies behind a point of no return is not undone.
  return !relationsOf(graph).pivots.some(
    (pivot) =>
      after.has(pivot) &&
      (hasPassed(graph, state, pivot) || mayHavePassed(graph.steps.get(pivot)!, stepState(state, pivot))),
  );
}

/**
 * No step begins any more; of those that are to be undone the ones that wait for another attempt have failed,
 * those in progress will settle. While the outcome of a pivot among them is not known, the rollback waits for it.
 * @param rollbackTo the savepoint to go forward again from; undefined: everything is undone
 */
export function startTurningBack(
  graph: SagaGraph,
  state: SagaState,
  failure: SagaFailure,
  rollbackTo?: string,
): SagaState {
  if (undecidedPivot(graph, state, rollbackTo) !== undefined) {
    const status = state.heldPhase ?? (state.status === 'compensating' ? 'compensating' : 'running');
    return changeState(state, { status, heldPhase: undefined, pendingRollback: { failure, rollbackTo } });
  }
  const region = rollbackTo === undefined ? undefined : descendantsOf(graph, rollbackTo);
  const next = mapSteps(state, GIVES_UP, (step, key) =>
    region === undefined || region.has(stepOfKey(key)) ? giveUpWaiting(step) : step,
  );
  return changeState(withoutPending(next), {
    status: 'compensating',
    heldPhase: undefined,
    failure,
    rollbackTo,
  });
}

/** What came after the savepoint is undone: all of it is to happen again, in a new round. */
export function resume(graph: SagaGraph, state: SagaState): SagaState {
  const savepoint = state.rollbackTo!;
  const round = state.round + 1;
  const region = descendantsOf(graph, savepoint);
  const again = [...region].reduce(
    (known, name) => (known.steps.has(name) ? known : putStep(known, name, PENDING)),
    state,
  );
  const { steps } = mapSteps(again, ALL, (step, key) => {
    const { errors, wonBy, lost } = step;
    if (!region.has(stepOfKey(key))) return step;
    // A race that was won from outside stays so, unless its winner is being undone in its turn.
    const won = wonBy !== undefined && !region.has(wonBy) && isKept(state, wonBy) ? wonBy : undefined;
    return changeStep(PENDING, { errors, round, wonBy: won, ...(lost && { lost }) });
  });
  // Outside, a step behind a pivot may have failed permanently meanwhile: the saga will be stuck at it.
  const gaveUp = [...graph.steps.keys()].some((name) => {
    const step = stepState(state, name);
    return !region.has(name) && step.status === 'failed' && !isDropped(step);
  });
  const failure = gaveUp ? state.failure : undefined;
  let next: SagaState = changeState(state, {
    status: 'running',
    failure,
    rollbackTo: undefined,
    round,
    steps,
  });
  next = withStep(next, savepoint, { returns: stepState(next, savepoint).returns + 1 });
  if (!relationsOf(graph).hasJoinAny) return next;
  next = pruneAgain(graph, next, region);
  // Others can be won from outside at once, by what completed there meanwhile.
  for (const name of region) {
    const node = graph.steps.get(name)!;
    if (!isRace(node) || stepState(next, name).wonBy !== undefined) continue;
    const winner = node.after.find((entry) => isKept(next, entry));
    if (winner !== undefined) next = winRaces(graph, next, winner);
  }
  return pruneLosers(graph, next);
}
