import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import type { SagaState } from '../../machine/saga-state.js';
import { isReply, stepAwaiting } from '../../machine/waits.js';
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
  for (const signal of signals) {
    const { name, number } = signal;
    const taker = number > (lastTakenSignals[name] ?? 0) ? stepAwaiting(graph, state, name) : undefined;
    if (taker !== undefined)
      return isReply(state, taker) ? { type: 'reply-received', name, number } : eventOf(signal, now);
  }
  return undefined;
}

function eventOf({ name, number, payload }: StoredSignal, now: number): SagaEvent {
  const error = refusalIn(name, payload);
  return error ? { type: 'refused', name, number, error, now } : { type: 'signalled', name, number, payload };
}
