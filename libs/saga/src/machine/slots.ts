import { nodeOf, type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import { isDropped, mayStart } from './predicates.js';
import type { EventOf } from './saga-event.js';
import { awaitsSlot, type SagaState, stepState } from './saga-state.js';
import { withStep } from './step-changes.js';

/**
 * As many attempts of the step are in progress as its `limit` allows. It waits, without a worker, until the store
 * makes the saga due. That it got a slot is not recorded: it is the lease's, and a lost worker's slots are free.
 */
export function slotAwaited(
  graph: SagaGraph,
  state: SagaState,
  { step, key, now }: EventOf<'slot-awaited'>,
): SagaState {
  const { status, slot } = stepState(state, step);
  const waits = nodeOf(graph, step).limit !== undefined && slot === undefined;
  // What a transaction has stored while the store was asked may have dropped it.
  if (!waits || isDropped(stepState(state, stepOfKey(step)))) return state;
  // At most once: what is recorded as running may have taken effect.
  if (status === 'running' || !mayStart(state, step)) return state;
  return withStep(state, step, {
    status: 'waiting',
    retryAt: undefined,
    permit: undefined,
    slot: { ...(key !== undefined && { key }), since: now },
  });
}

/** The step has a slot, and may begin. */
export function slotGranted(_: SagaGraph, state: SagaState, { step }: EventOf<'slot-granted'>): SagaState {
  return awaitsSlot(stepState(state, step)) ? withStep(state, step, { slot: undefined }) : state;
}
