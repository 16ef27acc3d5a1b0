import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import type { SagaState } from '../../machine/saga-state.js';
import { stepAwaiting } from '../../machine/waits.js';
import type { StoredSignal } from '../ports/stored-saga.js';
import { refusalIn } from './approvals.js';

/** The first of these, which are in order, that a step of this state waits for and that was not taken before. */
export function nextSignal(
  graph: SagaGraph,
  state: SagaState,
  signals: readonly StoredSignal[],
  now: number,
): SagaEvent | undefined {
  const { lastTakenSignals = {} } = state;
  const next = signals.find(
    ({ name, number }) =>
      number > (lastTakenSignals[name] ?? 0) && stepAwaiting(graph, state, name) !== undefined,
  );
  return next && eventOf(next, now);
}

function eventOf({ name, number, payload }: StoredSignal, now: number): SagaEvent {
  const error = refusalIn(name, payload);
  return error ? { type: 'refused', name, number, error, now } : { type: 'signalled', name, number, payload };
}
