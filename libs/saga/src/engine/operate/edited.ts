import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { SagaStateError } from '../../errors.js';
import { decide } from '../../machine/decide.js';
import { describeStep } from '../../machine/describe-step.js';
import { evolve } from '../../machine/evolve.js';
import { follow } from '../../machine/follow.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { isTerminal, type SagaState } from '../../machine/saga-state.js';
import type { Edit } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { nextSignal } from './next-signal.js';

/**
 * What each of an operator's calls does to a saga: an edit under its row's lock, or SagaStateError naming the
 * call and the state. `graph` is undefined where this process does not know the saga's version.
 */
export type OperatorEdit<Options> = (
  saga: StoredSaga,
  graph: SagaGraph | undefined,
  now: number,
  options: Options,
) => Edit | undefined;

/** The edit by which these events happen to a saga, with all that follows from them. */
export function edited(
  saga: StoredSaga,
  graph: SagaGraph | undefined,
  now: number,
  ...events: readonly SagaEvent[]
): Edit {
  // An operator's events change states by name alone; without the graph only the next step stays unsaid.
  const known: SagaGraph = graph ?? {
    name: saga.name,
    version: saga.version,
    onFailure: 'compensate',
    steps: new Map(),
  };
  const evolved = events.reduce((state, event) => evolve(known, state, event), saga.state);
  const { status } = evolved;
  if (!graph) return { state: evolved, step: '', due: !isTerminal(status) && status !== 'paused' };
  const { state, decision } = follow(graph, withPendingSignals(graph, evolved, saga, now), now);
  if (state.status === 'paused') {
    // Where it would go on.
    const next = decide(graph, { ...state, status: state.heldPhase! }, now);
    return { state, step: describeStep(state, next), due: false };
  }
  return { state, step: describeStep(state, decision), due: !isTerminal(state.status) };
}

/** What was sent meanwhile came before the time that is over now. */
export function withPendingSignals(
  graph: SagaGraph,
  given: SagaState,
  { signals = [] }: StoredSaga,
  now: number,
): SagaState {
  let state = given;
  for (
    let event = nextSignal(graph, state, signals, now);
    event;
    event = nextSignal(graph, state, signals, now)
  )
    state = evolve(graph, state, event);
  return state;
}

export function doesNotFit(call: string, { id, name, state }: StoredSaga): SagaStateError {
  const doing =
    state.heldPhase === undefined
      ? ''
      : `, while ${state.heldPhase === 'compensating' ? 'compensating' : 'going forward'}`;
  return new SagaStateError(`Saga ${id} (${name}) cannot be ${call}: it is ${state.status}${doing}.`);
}
