import { leavesNothing, nodeOf, type SagaGraph, stepOfKey } from '../../definition/graph/saga-graph.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import { type SagaStateError, SagaValidationError } from '../../errors.js';
import { decide } from '../../machine/decide.js';
import { backsOff, isDropped, isLostAttempt } from '../../machine/predicates.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import {
  awaitsChild,
  awaitsReply,
  isInProgress,
  type SagaState,
  stepState,
} from '../../machine/saga-state.js';
import { KIND, TIMED } from '../../machine/data/step-kinds.js';
import { stepsOfKinds } from '../../machine/data/step-map.js';
import { liveState } from '../ports/live-state.js';
import type { Edit } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { graphMissing, refusedCall, refusedStep } from './refusals.js';
import { edited, type OperatorEdit } from './edit-by-events.js';

/**
 * The ways out of a saga that hangs: its worker holds the lease and waits for a method that does not end, or a step waits for
 * what will not come. The lease is taken away, so that what the method still does does not count. Attempts beside it are
 * interrupted, as when a worker shuts down.
 */
export interface WayOut {
  /** The step, or the key of an item. */
  readonly step: string;
  /** Does it also if another at-most-once attempt is interrupted by it. */
  readonly force?: boolean;
}

/** The attempt in progress has an unknown outcome from now on. By the retry policy, the next attempt follows or none. */
export const abandonEdit: OperatorEdit<WayOut & { error: SerializedError; random: number }> = (
  saga,
  given,
  now,
  { step: key, force, error, random },
) => {
  const graph = graphFor('abandoned', saga, given);
  const live = liveState(saga, graph, now);
  const step = stepState(live, key);
  // Its request may be lost: the next attempt sends it again.
  if (!step.active && !awaitsReply(step)) throw notInProgress('abandoned', key, saga, abandonable(live));
  const failed = { step: key, error, retryable: true, now, random };
  const event: SagaEvent =
    step.status === 'compensating'
      ? { type: 'compensation-failed', ...failed }
      : { type: 'step-failed', kind: 'error', unknown: !leavesNothing(nodeOf(graph, key)), ...failed };
  return takenAway(saga, graph, now, live, { call: 'abandoned', step: key, force }, [event]);
};

/** A step in progress or waiting is done elsewhere, with this result; or its compensation is. */
export const resolveOpenEdit: OperatorEdit<WayOut & { result?: string }> = (
  saga,
  given,
  now,
  { step: key, result, force },
) => {
  const graph = graphFor('resolved', saga, given);
  const live = liveState(saga, graph, now);
  const step = stepState(live, key);
  const { active, status, child } = step;
  if (awaitsChild(step))
    throw refusedStep('resolved', key, saga, `it waits for saga ${child!.id}. Act on that saga`);
  const open = resolvable(graph, live);
  if (!active && !open.includes(key))
    throw notInProgress('resolved', key, saga, [...attemptsOf(live), ...open]);
  const undoes = active ? status === 'compensating' : isUndone(live, key);
  if (undoes) checkNoResult(key, result);
  const gaveUp = status === 'compensation_failed';
  const events: SagaEvent[] = undoes
    ? [{ type: gaveUp ? 'operator-resolved' : 'compensation-completed', step: key }]
    : [{ type: 'step-completed', step: key, now, ...resolvedWith(graph, live, key, result) }];
  // What the probe of an interrupted step would say, an operator says, also while the saga compensates.
  const asked = isLostAttempt(nodeOf(graph, key), step);
  const began = undoes ? 'compensation-started' : asked ? 'probe-started' : 'step-started';
  if (!active && !gaveUp) events.unshift({ type: began, step: key });
  return takenAway(saga, graph, now, live, { call: 'resolved', step: key, force }, events);
};

/**
 * The result of a step that is done elsewhere. Of a fan-out that has no items yet, all are: it is the array of theirs, and empty by
 * default.
 * @throws SagaValidationError if it is something else
 */
export function resolvedWith(
  graph: SagaGraph | undefined,
  state: SagaState,
  key: string,
  result: string | undefined,
): { readonly result?: string } {
  const isWhole = graph?.steps.get(key)?.forEach !== undefined && stepState(state, key).items === undefined;
  if (isWhole && result !== undefined && !result.startsWith('['))
    throw new SagaValidationError(
      `resolve() takes all items of step '${key}' as done, and its result is the array of their results. ` +
        `Give { result: […] }.`,
    );
  const given = result ?? (isWhole ? '[]' : undefined);
  return given === undefined ? {} : { result: given };
}

/** @throws SagaValidationError if a compensation is resolved with a result, which would be lost */
export function checkNoResult(step: string, result: string | undefined): void {
  if (result === undefined) return;
  throw new SagaValidationError(
    `resolve() marks the compensation of step '${step}' as done, and a compensation has no result. Remove { result }.`,
  );
}

/** What backs off makes its next attempt at once. */
export const retryNowEdit: OperatorEdit<{ step?: string }> = (saga, graph, now, { step }) => {
  const { state } = saga;
  if (!isInProgress(state.status)) throw refusedCall('retried now', saga);
  const waiting = backingOff(state);
  if (
    step === undefined
      ? waiting.length === 0
      : !waiting.some((key) => key === step || stepOfKey(key) === step)
  ) {
    const others = waiting.length > 0 ? ` but those of: ${waiting.join(', ')}` : '';
    const why = `no failed attempt waits for its next one${others}`;
    throw step === undefined
      ? refusedCall('retried now', saga, why)
      : refusedStep('retried now', step, saga, why);
  }
  checkIdle('retried now', saga, graph, now);
  return edited(saga, graph, now, { type: 'retried', step });
};

/** @throws SagaStateError if attempts are in progress, whose results would be lost by an edit */
export function checkIdle(call: string, saga: StoredSaga, graph: SagaGraph | undefined, now: number): void {
  if (saga.lockedBy === undefined) return;
  const busy = attemptsOf(liveState(saga, graphFor(call, saga, graph), now));
  if (busy.length > 0) throw refusedCall(call, saga, inProgress(busy));
}

/** Why a call waits for these attempts, for the error that refuses it. */
export function inProgress(busy: readonly string[]): string {
  return `attempts are in progress: ${busy.join(', ')}. Repeat the call when they have ended, or abandon them`;
}

/** The steps, and items, that have failed and wait for another attempt. */
export function backingOff(state: SagaState): string[] {
  return [...stepsOfKinds(state.steps, TIMED)].flatMap(([key, step]) => (backsOff(step) ? [key] : []));
}

/** The steps, and items, that have an attempt in progress. */
export function attemptsOf(live: SagaState): string[] {
  return [...stepsOfKinds(live.steps, KIND.active)].flatMap(([key, step]) => (step.active ? [key] : []));
}

/** Returns the steps that may be abandoned: also those whose compensation was requested, and not confirmed. */
export function abandonable(live: SagaState): string[] {
  return [...stepsOfKinds(live.steps, KIND.active | KIND.compensating)].flatMap(([key, step]) =>
    step.active || awaitsReply(step) ? [key] : [],
  );
}

/** The steps, and items, that begin next or wait, and that an operator may take as done: without those in progress. */
export function resolvable(graph: SagaGraph, live: SagaState): string[] {
  if (!isInProgress(live.status)) return [];
  // Also before its rate limit lets it begin.
  const next = decide(graph, { ...live, deadline: undefined, turn: 'begun' }, Infinity).actions;
  const keys = next
    .filter(({ kind }) => kind !== 'cancel-child' && kind !== 'undo-child')
    .map(({ key }) => key);
  if (live.status === 'running' && live.pendingRollback === undefined)
    for (const [key, step] of stepsOfKinds(live.steps, KIND.waiting | KIND.queued | TIMED))
      if (step.status === 'waiting' && !awaitsChild(step) && !isDropped(stepState(live, stepOfKey(key))))
        keys.push(key);
  for (const [key, step] of stepsOfKinds(live.steps, KIND.compensating | KIND.compensationFailed))
    if (awaitsReply(step) || step.status === 'compensation_failed') keys.push(key);
  return [...new Set(keys)];
}

/** What comes next for it is its compensation. */
function isUndone(live: SagaState, key: string): boolean {
  const { status } = stepState(live, key);
  return ['completed', 'failed', 'compensating', 'compensation_failed'].includes(status);
}

/** What an operator ends, then all that ends with the lease: other attempts, and what was asked of its holder. */
function takenAway(
  saga: StoredSaga,
  graph: SagaGraph,
  now: number,
  live: SagaState,
  { call, step, force }: WayOut & { call: string },
  events: readonly SagaEvent[],
): Edit {
  const others = attemptsOf(live).filter((key) => key !== step);
  const lost = others.filter((key) => {
    const { idempotent, probe } = nodeOf(graph, key);
    return !idempotent && probe === undefined && stepState(live, key).status === 'running';
  });
  if (lost.length > 0 && !force) {
    const why =
      `the saga's worker loses its lease by it, and the at-most-once step '${lost.join("', '")}' is in progress, too. ` +
      `Its outcome would be unknown. Repeat the call when it has ended, or with force`;
    throw refusedStep(call, step, saga, why);
  }
  const after: SagaEvent[] = [...events];
  if (others.length > 0) after.push({ type: 'interrupted', now });
  if (saga.cancelRequested)
    after.push({ type: 'cancelled', reason: saga.cancelRequested.reason, accepted: true, now });
  else if (saga.pauseRequested) after.push({ type: 'paused' });
  return edited({ ...saga, state: live }, graph, now, ...after);
}

function graphFor(call: string, saga: StoredSaga, graph: SagaGraph | undefined): SagaGraph {
  const { status } = saga.state;
  if (!isInProgress(status)) throw refusedCall(call, saga);
  if (graph) return graph;
  throw refusedCall(`${call} here`, saga, graphMissing(saga, 'what is in progress'));
}

function notInProgress(
  call: string,
  step: string,
  saga: StoredSaga,
  keys: readonly string[],
): SagaStateError {
  const { status, items } = stepState(saga.state, step);
  const lacks =
    call === 'abandoned' ? 'no attempt of it is in progress' : 'it is neither in progress nor waiting';
  const couldBe = [...new Set(keys)].join(', ') || 'no step';
  const why = items ? `its items are ${call} one by one` : `it is ${status}, and ${lacks}`;
  return refusedStep(call, step, saga, `${why}. It could be: ${couldBe}`);
}
