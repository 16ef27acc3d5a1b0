import { approvalSignal, type SagaGraph } from '../../definition/graph/saga-graph.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import { awaitsReply, awaitsSignal, isTerminal } from '../../machine/saga-state.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { WaitingFor } from './saga-snapshot.js';
import { isNearRetry } from '../../engine/run/near-retry.js';
import { KIND, TIMED } from '../../machine/step-kinds.js';
import { ownStepsOfKinds, stepsOfKinds } from '../../machine/step-map.js';
import { decide } from '../../machine/decide.js';
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
  if (lock?.holder !== undefined) return { kind: 'lock', key: lock.key, holder: lock.holder };
  const [awaited] = awaitedBy(saga.state);
  if (awaited && saga.lockedBy === undefined && !(saga.dueAt! <= now))
    return remote ? handlerOrItsStep(awaited.step, remote, now) : { kind: 'sub-saga', ...awaited };
  const waits = signalAwaitedBy(saga);
  if (waits && saga.lockedBy === undefined && !(saga.dueAt! <= now)) return waits;
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
  const later = [...stepsOfKinds(steps, TIMED)].filter(([, s]) => s.retryAt !== undefined && s.retryAt > now);
  const [key, step] = later.sort(([, a], [, b]) => a.retryAt! - b.retryAt!)[0] ?? [];
  if (step?.permit !== undefined && step.permit === step.retryAt) {
    const limitKey = step.limitKey === undefined ? {} : { key: step.limitKey };
    return { kind: 'rate-limit', step: key!, ...limitKey, until: new Date(step.permit) };
  }
  return step && step.attempts > 0
    ? { kind: 'retry', step: key!, at: new Date(step.retryAt!) }
    : { kind: 'delay', step: key, until: new Date(step?.retryAt ?? saga.dueAt) };
}
/** The data that a snapshot shows beside the stored saga. */
export interface SnapshotContext {
  /** Undefined if this process does not have the saga's version. Then only recorded steps are shown. */
  readonly graph: SagaGraph | undefined;
  readonly now: number;
  /** The `concurrency` of the saga's name. */
  readonly limit?: number;
  /** The saga of the handler that a remote step waits for, and whether any process ever had this handler. */
  readonly remote?: { readonly saga: StoredSaga; readonly deployed: boolean };
}
