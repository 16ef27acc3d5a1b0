import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { decide } from '../../libs/saga/src/machine/decide.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import { awaitsSlot, isTerminal, type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import { isDropped } from './is-dropped.js';
import { type Move, picked } from './random-graph.js';

/** An operator's move on an idle saga, as an event. Undefined: the move is none of an operator, or has no step to name. */
export function operatorEvent(graph: SagaGraph, state: SagaState, move: Move): SagaEvent | undefined {
  const { kind } = move;
  if (isTerminal(state.status)) return kind === 'undo' ? { type: 'undone' } : undefined;
  const step = picked(namedSteps(graph, state), move);
  if (kind === 'retry') return { type: 'retried' };
  if (kind === 'retry one' && step !== undefined) return { type: 'retried', step };
  if (kind === 'resolve one' && step !== undefined)
    return { type: 'operator-resolved', step, result: '"manual"' };
  if (kind === 'cancel') return { type: 'cancelled' };
  return kind === 'abort' ? { type: 'aborted' } : undefined;
}

/** The steps that an operator may name: those that failed permanently or wait for a slot, or those that crashed workers. */
function namedSteps(graph: SagaGraph, state: SagaState): string[] {
  const failed = [...state.steps].filter(([key, step]) => {
    const { status, items } = step;
    // An operator acts on the items of a fan-out.
    if (items !== undefined) return false;
    const isForward = state.heldPhase === 'running' && !isDropped(stepState(state, key.replace(/\[.*/, '')));
    return status === 'compensation_failed' || (isForward && (status === 'failed' || awaitsSlot(step)));
  });
  if (failed.length > 0) return failed.map(([key]) => key);
  const resumed = { ...state, status: state.heldPhase ?? 'running' } as const;
  const next = decide(graph, resumed, Infinity).actions.filter(({ kind }) => kind !== 'expand');
  return next.map(({ key }) => key);
}
