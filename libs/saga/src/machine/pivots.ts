import type { SerializedError } from '../definition/types/saga-failure.js';
import { type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import { hasPassed, isBarred, isDropped, isUndecided, mayHavePassed } from './predicates.js';
import { descendantsOf, relationsOf } from './graph-relations.js';
import { type SagaState, stepState } from './saga-state.js';
import { withError } from './attempt-errors.js';
import { withStep } from './step-changes.js';
import { KIND } from './data/step-kinds.js';
import { stepsOfKinds } from './data/step-map.js';

/** The pivots that a rollback to this savepoint, or of everything, would concern. */
export function pivotsWithin(graph: SagaGraph, rollbackTo: string | undefined): readonly string[] {
  const { pivots } = relationsOf(graph);
  if (rollbackTo === undefined || pivots.length === 0) return pivots;
  const region = descendantsOf(graph, rollbackTo);
  return pivots.filter((name) => region.has(name));
}

/** The pivot whose outcome decides whether this rollback happens. Undefined: there is none, it happens at once. */
export function undecidedPivot(graph: SagaGraph, state: SagaState, rollbackTo?: string): string | undefined {
  return pivotsWithin(graph, rollbackTo).find((name) =>
    isUndecided(graph.steps.get(name)!, stepState(state, name)),
  );
}

/** The pivot that has passed: this rollback does not happen. */
export function passedPivot(graph: SagaGraph, state: SagaState, rollbackTo?: string): string | undefined {
  return pivotsWithin(graph, rollbackTo).find((name) => hasPassed(graph, state, name));
}

/** The pivots of which an operator has to say what became of them, before the saga rolls back or goes forward. */
export function barredPivots(graph: SagaGraph, state: SagaState): string[] {
  return pivotsWithin(graph, state.rollbackTo).filter((name) => isBarred(graph, state, name));
}

/** An operator has resolved a compensation, although a pivot is barred: the saga cannot go forward any more. */
export function isPartlyCompensated(state: SagaState): boolean {
  return [...stepsOfKinds(state.steps, KIND.compensated)].some(
    ([key, { status }]) => status === 'compensated' && !isDropped(stepState(state, stepOfKey(key))),
  );
}

/** Most states have none, and stay as they are. */
export function withoutPending(state: SagaState): SagaState {
  if (state.pendingRollback === undefined) return state;
  const { pendingRollback: _, ...rest } = state;
  return rest;
}

/** A rollback must not go behind what may have been the point of no return: it waits for an operator. */
export function barPivots(graph: SagaGraph, state: SagaState, now?: number): SagaState {
  if (state.status !== 'compensating') return state;
  let next = state;
  for (const name of pivotsWithin(graph, state.rollbackTo)) {
    if (!mayHavePassed(graph.steps.get(name)!, stepState(next, name))) continue;
    const error: SerializedError = {
      name: 'PivotOutcomeUnknownError',
      message:
        `The outcome of the pivot '${name}' is unknown. Retry it to determine the outcome and go forward. ` +
        `If it certainly did not take effect, or its effect was compensated, skip it to roll back`,
    };
    const step = stepState(next, name);
    const errors = now === undefined ? step.errors : withError(step, error, now, 'compensation');
    next = withStep(next, name, { status: 'compensation_failed', errors });
  }
  return next;
}
