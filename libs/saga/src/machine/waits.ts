import { nodeOf, type SagaGraph } from '../definition/graph/saga-graph.js';
import { failStep, isAttemptInProgress } from './failures.js';
import type { EventOf } from './saga-event.js';
import { compensated } from './step-endings.js';
import {
  awaitsReply,
  awaitsSignal,
  isInProgress,
  type SagaState,
  type StepState,
  stepState,
  changeState,
} from './saga-state.js';
import { withStep } from './step-changes.js';
import { KIND, TIMED } from './data/step-kinds.js';
import { ownStepsOfKinds } from './data/step-map.js';

const WAIT_IS_OVER = { retryAt: undefined, wait: undefined };

/**
 * The step that the next signal of this name is for; undefined: it is kept until one waits for it.
 * @param at when it came; undefined: in time
 */
export function stepAwaiting(
  graph: SagaGraph,
  state: SagaState,
  signal: string,
  at = -Infinity,
): string | undefined {
  const { status } = state;
  if (!isInProgress(status)) return undefined;
  for (const { name, wait, compensationReply } of graph.steps.values()) {
    if (wait === undefined && compensationReply === undefined) continue;
    const step = stepState(state, name);
    if (step.wait?.signal !== signal) continue;
    const waits = status === 'running' && awaitsSignal(step) && !step.pruned;
    if (awaitsReply(step) || (waits && !isWaitOver(step, at))) return name;
  }
  return undefined;
}

/** The step waits for a confirmation of its compensation, and for nothing else. */
export function isReply(state: SagaState, step: string): boolean {
  return awaitsReply(stepState(state, step));
}

/** The names of the signals that these steps wait for. */
export function awaitedSignals(steps: SagaState['steps']): string[] {
  const names: string[] = [];
  for (const [, step] of ownStepsOfKinds(steps, KIND.waiting | KIND.compensating | TIMED))
    if (awaitsSignal(step) || awaitsReply(step)) names.push(step.wait!.signal);
  return names;
}

/** The time for which the step waits is over, whether or not a worker has seen it. */
export function isWaitOver({ wait }: Pick<StepState, 'wait'>, now: number): boolean {
  return wait?.until !== undefined && wait.until <= now;
}

/** The step is ready, and waits. */
export function startWait(
  graph: SagaGraph,
  state: SagaState,
  { step: name, now, until: given }: EventOf<'wait-started'>,
): SagaState {
  const { kind, wait: awaited } = graph.steps.get(name)!;
  const { signal, timeout, quorum } = awaited!;
  const until = given ?? (timeout === undefined ? undefined : now + timeout);
  return withStep(state, name, {
    status: 'waiting',
    retryAt: undefined,
    wait: {
      ...{ signal, ...(until !== undefined && { until }), ...(quorum !== undefined && { quorum }) },
      ...(kind === 'approval' && { since: now }),
    },
  });
}

/** What came is the step's; its method is to be called with it. */
export function signalled(graph: SagaGraph, state: SagaState, event: EventOf<'signalled'>): SagaState {
  const step = takerOf(graph, state, event);
  if (step === undefined || isReply(state, step)) return state;
  const { name, number, payload } = event;
  const { wait } = stepState(state, step);
  return withStep(withTakenSignal(state, name, number), step, {
    wait: { ...wait!, takenSignal: number, ...(payload !== undefined && { payload }) },
  });
}

/** The method of a compensation has returned. A reply that came before is found by the next look. */
export function requested(
  graph: SagaGraph,
  state: SagaState,
  { step: key, now }: EventOf<'compensation-requested'>,
): SagaState {
  const reply = nodeOf(graph, key).compensationReply;
  if (!reply || !isAttemptInProgress(state, key, 'compensating')) return state;
  const { signal, timeout } = reply;
  const wait = { signal, ...(timeout !== undefined && { until: now + timeout }) };
  return withStep(state, key, { wait, active: false });
}

/** The participant confirms it. */
export function replied(graph: SagaGraph, state: SagaState, event: EventOf<'reply-received'>): SagaState {
  const step = takerOf(graph, state, event);
  if (step === undefined || !isReply(state, step)) return state;
  return compensated(graph, withTakenSignal(state, event.name, event.number), step);
}

/** An operator said no. */
export function refused(graph: SagaGraph, state: SagaState, event: EventOf<'refused'>): SagaState {
  const step = takerOf(graph, state, event);
  if (step === undefined) return state;
  const { name, number, error, now } = event;
  const taken = withTakenSignal(state, name, number);
  return failStep(graph, taken, step, { kind: 'rejected', error, now }, WAIT_IS_OVER);
}

/** Nothing came in time. */
export function waitExpired(
  graph: SagaGraph,
  state: SagaState,
  { step: name, now }: EventOf<'wait-expired'>,
): SagaState {
  const step = stepState(state, name);
  if (state.status !== 'running' || !awaitsSignal(step) || !isWaitOver(step, now)) return state;
  const error = {
    name: 'SignalTimeoutError',
    message: `Step '${name}' did not receive the signal '${step.wait!.signal}' before its timeout`,
  };
  return failStep(graph, state, name, { kind: 'timeout', error, now }, WAIT_IS_OVER);
}

/** Signals of one name are taken once, in their order. */
function takerOf(
  graph: SagaGraph,
  state: SagaState,
  { name, number, at }: EventOf<'signalled' | 'refused' | 'reply-received'>,
): string | undefined {
  return (state.lastTakenSignals?.[name] ?? 0) < number ? stepAwaiting(graph, state, name, at) : undefined;
}

function withTakenSignal(state: SagaState, name: string, number: number): SagaState {
  return changeState(state, { lastTakenSignals: { ...state.lastTakenSignals, [name]: number } });
}
