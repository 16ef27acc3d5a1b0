import { graphMissing, refusedStep } from './refusals.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { type SagaState, isTerminal, stepState } from '../../machine/saga-state.js';
import { isReply, stepAwaiting } from '../../machine/waits.js';
import type { StoredSignal, StoredSaga } from '../ports/stored-saga.js';
import { refusalIn } from './approvals.js';
import { decide } from '../../machine/decide.js';
import { describeStep } from '../../machine/describe-step.js';
import { evolve } from '../../machine/evolve.js';
import { follow, type Followed, type SignalFor } from '../../machine/follow.js';
import { KIND } from '../../machine/data/step-kinds.js';
import { ownStepsOfKinds } from '../../machine/data/step-map.js';
import { graphUnknownHere } from '../ports/handler-calls.js';
import { startTimeOf } from '../../machine/turn.js';
import type { Edit } from '../ports/saga-store.js';

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
  checkApprovals(saga, graph, evolved);
  const { status } = evolved;
  if (!graph) return { state: evolved, step: '', due: status !== 'paused' && dueAfterEdit(evolved, now) };
  const followed = follow(graph, evolved, now, pendingSignals(graph, saga, now));
  const { state, decision } = hasBegun(saga) ? followed : ended(graph, followed, now);
  if (state.status === 'paused') {
    // Where it would go on.
    const next = decide(graph, { ...state, status: state.heldPhase! }, now);
    return { state, step: describeStep(graph, state, next), due: false };
  }
  return { state, step: describeStep(graph, state, decision), due: dueAfterEdit(state, now) };
}

/** Something is recorded of it, or a worker that was lost may have begun something. */
function hasBegun({ state, takeovers }: StoredSaga): boolean {
  return state.steps.size > 0 || takeovers > 0;
}

/** One that has begun nothing, and has nothing left to do, needs no worker to end: it may wait for a lock, or for a slot. */
function ended(graph: SagaGraph, followed: Followed, now: number): Followed {
  const { settle: status } = followed.decision;
  if (status !== 'completed' && status !== 'compensated') return followed;
  return follow(graph, evolve(graph, followed.state, { type: 'settled', status }), now);
}

/** A worker looks at the saga at once, or when its start time comes and nothing has happened to it before. */
function dueAfterEdit(state: SagaState, now: number): boolean | number {
  if (state.status === 'running' && state.steps.size === 0) return startTimeOf(state, now) ?? true;
  return !isTerminal(state.status);
}

/**
 * Only approve() completes an approval: it has rights of its own, and a quorum. Whatever else an operator does may complete
 * its step once it was approved: when its method fails or hangs, for example.
 * @throws SagaStateError
 */
function checkApprovals(saga: StoredSaga, graph: SagaGraph | undefined, after: SagaState): void {
  for (const [name, { status }] of ownStepsOfKinds(after.steps, KIND.completed)) {
    if (status !== 'completed' || stepState(saga.state, name).status === 'completed') continue;
    if (mayBeMarked(saga, graph, name)) continue;
    if (!graph)
      throw refusedStep(
        'marked as completed here',
        name,
        saga,
        graphMissing(saga, 'whether the step is an approval'),
      );
    const why =
      'it is an approval, and was not approved. Call approve() or reject(); if it has failed, call retry() first';
    throw refusedStep('marked as completed', name, saga, why);
  }
}

/** Whether an operator may mark a step as completed: it is no approval, or was approved. */
export function mayBeMarked(saga: StoredSaga, graph: SagaGraph | undefined, step: string): boolean {
  if (stepState(saga.state, step).wait?.takenSignal !== undefined) return true;
  return graph ? graph.steps.get(step)?.kind !== 'approval' : graphUnknownHere(saga) !== undefined;
}

/** What was sent meanwhile came before the time that is over now. */
export function withPendingSignals(
  graph: SagaGraph,
  given: SagaState,
  saga: StoredSaga,
  now: number,
): SagaState {
  const signalFor = pendingSignals(graph, saga, now);
  let state = given;
  for (let event = signalFor(state); event; event = signalFor(state)) state = evolve(graph, state, event);
  return state;
}

function pendingSignals(graph: SagaGraph, { signals = [] }: StoredSaga, now: number): SignalFor {
  return (state) => nextSignal(graph, state, signals, now);
}

/**
 * The first of these, which are in order, that a step of this state waits for and that was not taken before. One that came
 * after the step's timeout is not taken, though no worker has looked since; the clock may have been set back meanwhile.
 */
export function nextSignal(
  graph: SagaGraph,
  state: SagaState,
  signals: readonly StoredSignal[],
  now: number,
): SagaEvent | undefined {
  const { lastTakenSignals = {} } = state;
  for (const signal of signals) {
    const { name, number } = signal;
    const at = Math.min(now, signal.at);
    const taker = number > (lastTakenSignals[name] ?? 0) ? stepAwaiting(graph, state, name, at) : undefined;
    if (taker !== undefined)
      return isReply(state, taker) ? { type: 'reply-received', name, number, at } : eventOf(signal, at, now);
  }
  return undefined;
}

function eventOf({ name, number, payload }: StoredSignal, at: number, now: number): SagaEvent {
  const error = refusalIn(name, payload);
  return { ...(error ? { type: 'refused', error, now } : { type: 'signalled', payload }), name, number, at };
}
