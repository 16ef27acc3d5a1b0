import { approvalSignal, type SagaGraph, stepOfKey } from '../../definition/graph/saga-graph.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import { awaitsReply, awaitsSignal, awaitsSlot, isTerminal } from '../../machine/saga-state.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { WaitingFor } from './saga-snapshot.js';
import { isNearRetry } from '../../engine/run/near-retry.js';
import { KIND, TIMED } from '../../machine/step-kinds.js';
import { ownStepsOfKinds, stepsOfKinds } from '../../machine/step-map.js';
import { decide } from '../../machine/decide.js';
import { startTimeOf } from '../../machine/turn.js';
import { holdPaused } from '../../machine/hold-paused.js';
import type { StoredStepPause } from '../../engine/ports/step-pause.js';
import { permanentlyFailed } from '../../engine/operate/operator-edits.js';
import { approvalsOf } from '../../engine/operate/approvals.js';
import { awaitedBy } from '../../engine/run/run-children.js';

export function toDate(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
export function handlerOrItsStep(
  step: string,
  { saga, deployed }: NonNullable<SnapshotContext['remote']>,
  now: number,
): WaitingFor {
  const { id, version, dueAt } = saga;
  const asked = { step, handler: handlerOf(saga.name)!, version, id };
  // Also of one whose lease ran out.
  return dueAt !== undefined && dueAt <= now
    ? { kind: 'handler', ...asked, since: new Date(dueAt), deployed }
    : { kind: 'remote-step', ...asked };
}
export function signalAwaitedBy(saga: StoredSaga): WaitingFor | undefined {
  const { state } = saga;
  const kinds = KIND.waiting | KIND.compensating | TIMED;
  for (const [step, one] of ownStepsOfKinds(state.steps, kinds)) {
    const isReplied = awaitsReply(one);
    if (!isReplied && !awaitsSignal(one)) continue;
    const { signal, until: end, quorum } = one.wait!;
    const until = end === undefined ? {} : { until: new Date(end) };
    if (isReplied) return { kind: 'signal', step, signal, ...until, during: 'compensation' };
    return signal === approvalSignal(step)
      ? {
          ...{ kind: 'approval', step, ...until },
          ...(quorum !== undefined && { quorum, approvals: approvalsOf(saga, step) }),
        }
      : { kind: 'signal', step, signal, ...until };
  }
  return undefined;
}
/** The step, or item, that has waited for a slot of its limit for longest. */
function slotAwaitedBy({ state }: StoredSaga, graph: SagaGraph | undefined): WaitingFor | undefined {
  if (state.status !== 'running') return undefined;
  const queued = [...stepsOfKinds(state.steps, KIND.queued)].filter(([, step]) => awaitsSlot(step));
  const [first] = queued.sort(([, a], [, b]) => a.slot!.since - b.slot!.since);
  if (!first) return undefined;
  const [step, { slot }] = first;
  const limit = graph?.steps.get(stepOfKey(step))?.sharedConcurrency?.count;
  return {
    ...{ kind: 'concurrency', step, since: new Date(slot!.since) },
    ...(limit !== undefined && { limit }),
    ...(slot!.key !== undefined && { key: slot!.key }),
  };
}
export function paused({ operations }: StoredSaga): WaitingFor {
  const last = operations?.findLast(({ action }) => action === 'pause');
  return {
    kind: 'paused',
    ...(last?.by !== undefined && { by: last.by }),
    ...(last?.reason !== undefined && { reason: last.reason }),
  };
}
/** The worker that has it waits itself. What is in progress is still to be done, as far as is stored. */
export function keepsForRetry({ state }: StoredSaga, graph: SagaGraph, now: number): boolean {
  const next = decide(graph, state, now);
  return next.actions.length === 0 && isNearRetry(next, state, now);
}
/** The paused step for which the saga waits. What is due goes on first. */
function pausedStepOf(
  saga: StoredSaga,
  { graph, pauses = [], now }: SnapshotContext,
): WaitingFor | undefined {
  if (!graph || pauses.length === 0) return undefined;
  const isHeld = saga.lockedBy !== undefined;
  if (isHeld || saga.dueAt! <= now) return undefined;
  const paused = new Set(pauses.map(({ step }) => step));
  const [action] = holdPaused(graph, decide(graph, saga.state, now), paused).held ?? [];
  const pause = action && pauses.find(({ step }) => step === action.node.name);
  if (!pause) return undefined;
  const { at, ...who } = pause.paused;
  return { kind: 'paused-step', step: pause.step, ...who, since: new Date(at) };
}

export function waitingFor(saga: StoredSaga, around: SnapshotContext): WaitingFor | undefined {
  const { graph, now, limit, remote } = around;
  const { status, steps } = saga.state;
  // Steps of one that was aborted stay as they were.
  if (isTerminal(status)) return undefined;
  if (status === 'paused') return paused(saga);
  if (status === 'stuck' || status === 'suspended') {
    return { kind: 'person', steps: [...new Set(permanentlyFailed(saga, graph))] };
  }
  const { lock } = saga;
  const startsAt = status === 'running' ? startTimeOf(saga.state, now) : undefined;
  if (startsAt !== undefined) return { kind: 'delay', until: new Date(startsAt) };
  if (lock?.holder !== undefined) return { kind: 'lock', key: lock.key, holder: lock.holder };
  const held = pausedStepOf(saga, around);
  if (held) return held;
  const [awaited] = awaitedBy(saga.state);
  if (awaited && saga.lockedBy === undefined && !(saga.dueAt! <= now))
    return remote ? handlerOrItsStep(awaited.step, remote, now) : { kind: 'sub-saga', ...awaited };
  const waits = signalAwaitedBy(saga);
  if (waits && saga.lockedBy === undefined && !(saga.dueAt! <= now)) return waits;
  const queued = slotAwaitedBy(saga, graph);
  if (queued && saga.lockedBy === undefined && !(saga.dueAt! <= now)) return queued;
  if (saga.dueAt === undefined) return undefined;
  const isHeld = saga.lockedBy !== undefined && saga.dueAt > now;
  if (isHeld && !(graph && keepsForRetry(saga, graph, now))) return undefined;
  if (saga.dueAt <= now) {
    const since = new Date(saga.dueAt);
    const isCrowded = limit !== undefined && (saga.slotsTaken ?? 0) >= limit;
    const { limitKey: key } = saga;
    if (isCrowded) return { kind: 'concurrency', limit, ...(key !== undefined && { key }), since };
    return graph
      ? { kind: 'worker', since }
      : { kind: 'version', saga: saga.name, version: saga.version, since };
  }
  const { turn } = saga.state;
  if (typeof turn === 'object' && turn.at > now) {
    const key = turn.key === undefined ? {} : { key: turn.key };
    return { kind: 'rate-limit', ...key, until: new Date(turn.at) };
  }
  const later = [...stepsOfKinds(steps, TIMED)].filter(([, s]) => s.retryAt !== undefined && s.retryAt > now);
  const [key, step] = later.sort(([, a], [, b]) => a.retryAt! - b.retryAt!)[0] ?? [];
  if (step?.permit !== undefined && isSameTime(step.permit, step.retryAt!)) {
    const limitKey = step.limitKey === undefined ? {} : { key: step.limitKey };
    return { kind: 'rate-limit', step: key!, ...limitKey, until: new Date(step.permit) };
  }
  return step && step.attempts > 0
    ? { kind: 'retry', step: key!, at: new Date(step.retryAt!) }
    : { kind: 'delay', step: key, until: new Date(step?.retryAt ?? saga.dueAt) };
}
/** The database rounds times to microseconds, but not those in JSON. */
function isSameTime(one: number, other: number): boolean {
  return Math.abs(one - other) < 1;
}

/** The data that a snapshot shows beside the stored saga. */
export interface SnapshotContext {
  /** Undefined if this process does not have the saga's version. Then only recorded steps are shown. */
  readonly graph: SagaGraph | undefined;
  readonly now: number;
  /** The paused steps of the saga. Default: none. */
  readonly pauses?: readonly StoredStepPause[];
  /** The `concurrency` of the saga's name. */
  readonly limit?: number;
  /** The saga of the handler that a remote step waits for, and whether any process ever had this handler. */
  readonly remote?: { readonly saga: StoredSaga; readonly deployed: boolean };
}
