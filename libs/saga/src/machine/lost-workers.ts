import {
  type LostAttempt,
  type LostLease,
  type SagaState,
  type StepState,
  stepState,
  isInProgress,
  changeState,
} from './saga-state.js';
import { withStep } from './step-changes.js';
import {
  indexOfKey,
  leavesNothing,
  nodeOf,
  type SagaGraph,
  stepOfKey,
} from '../definition/graph/saga-graph.js';
import { dueWhenLost } from './decide.js';
import { relationsOf } from './graph-relations.js';
import { failStep, goesOn } from './failures.js';
import type { EventOf } from './saga-event.js';
import type { StepStatus } from '../definition/types/saga-status.js';
import { withError } from './attempt-errors.js';
import { KIND } from './data/step-kinds.js';
import { stepsOfKinds } from './data/step-map.js';
import { turnLost } from './turn.js';

/**
 * Workers were lost with this saga, one after the other. Whatever each may have been doing may have happened: the
 * attempts count, their outcome is unknown. Past the bound the saga is stuck, so that it cannot take worker
 * after worker down.
 */
export function takenOver(
  graph: SagaGraph,
  state: SagaState,
  { count, losses = count, bound, leases = [], now }: EventOf<'taken-over'>,
): SagaState {
  if (!isInProgress(state.status)) return state;
  let next = state;
  let suspects: string[] = [];
  // None counted: the lease was taken from a worker, and no step waited for its attempts.
  const losts = Math.max(count, 1);
  for (let lost = 0; lost < losts; lost += 1) {
    const lease = leases[leases.length - losts + lost];
    // What was due by a clock that was set back since may have begun all the same.
    suspects = suspectsOf(graph, next, Math.max(now, lease?.until ?? now));
    for (const key of suspects) next = withLoss(next, attemptLost(graph, next, key, now), key, lease);
  }
  if (graph.rateLimit) next = turnLost(graph, state, next, now);
  if (losses <= bound) return next;
  const error = {
    name: 'WorkerLostError',
    message: `Workers died ${losses} times while they ran this saga, and recorded no progress in between`,
  };
  const during = next.status === 'running' ? 'step' : 'compensation';
  for (const key of suspects)
    next = withStep(next, key, { errors: withError(stepState(next, key), error, now, during) });
  return changeState(next, {
    status: 'stuck',
    heldPhase: next.status === 'compensating' ? 'compensating' : 'running',
    failure: next.failure ?? { kind: 'error', error },
  });
}

/** The worker lets go of what is in progress. */
export function interrupted(graph: SagaGraph, state: SagaState, now: number): SagaState {
  return keysOf(graph, state, KIND.active).reduce(
    (next, key) =>
      stepState(state, key).active ? withLoss(next, attemptLost(graph, next, key, now), key, now) : next,
    state,
  );
}

/**
 * What a lost worker may have been at: what was recorded as running, and what was due. At-most-once steps come
 * last: they make the saga compensate, which must find what the others may have done.
 */
function suspectsOf(graph: SagaGraph, state: SagaState, now: number): string[] {
  const recorded = keysOf(graph, state, KIND.active | KIND.running).filter((key) => {
    const { status, items } = stepState(state, key);
    return status === 'running' && items === undefined;
  });
  const due = dueWhenLost(graph, state, now)
    .filter(({ kind }) => kind === 'run' || kind === 'compensate')
    .map(({ key }) => key);
  const idempotent = (key: string) => Number(nodeOf(graph, key).idempotent);
  return [...new Set([...recorded, ...due])].sort((a, b) => idempotent(b) - idempotent(a));
}

/**
 * Steps and items of some kinds, at least, in the order of the graph: what becomes of a saga must not depend on the order of
 * its rows. Without the items that only an earlier round had.
 */
function keysOf(graph: SagaGraph, { steps }: SagaState, kinds: number): string[] {
  const { places } = relationsOf(graph);
  const found: { key: string; place: number; index: number }[] = [];
  for (const [key] of stepsOfKinds(steps, kinds)) {
    const name = stepOfKey(key);
    const [place, index = -1] = [places.get(name), indexOfKey(key)];
    const isThere = index < 0 || index < (steps.get(name)?.items?.length ?? 0);
    if (place !== undefined && isThere) found.push({ key, place, index });
  }
  return found.sort((a, b) => a.place - b.place || a.index - b.index).map(({ key }) => key);
}

/** An attempt without an outcome. Attempts that were recorded or in progress were counted when they began. */
function attemptLost(graph: SagaGraph, state: SagaState, key: string, now: number): SagaState {
  const node = nodeOf(graph, key);
  const step = stepState(state, key);
  if (step.status !== 'pending' && step.status !== 'waiting' && step.status !== 'running') {
    const compensationAttempts = step.compensationAttempts + (step.active ? 0 : 1);
    return withStep(state, key, { compensationAttempts, active: false });
  }
  if (!node.idempotent) {
    // Its start is recorded before it runs: no record, no run.
    if (step.status !== 'running') return state;
    // The next worker calls its probe.
    if (node.probe !== undefined) return withStep(state, key, { active: false });
    const error = {
      name: 'StepInterruptedError',
      message: `The at-most-once step '${key}' was interrupted; its outcome is unknown, and it is not run again`,
    };
    return failStep(graph, state, key, { kind: 'error', error, now }, { unknown: true });
  }
  return withStep(state, key, {
    // Compensation does not wait: a forward attempt that was lost then is over.
    status: goesOn(graph, state, node.name) ? 'pending' : 'failed',
    attempts: step.attempts + (step.status === 'running' ? 0 : 1),
    unknown: step.unknown || !leavesNothing(node),
    permit: undefined,
    slot: undefined,
    active: false,
  });
}

/** The statuses of a step that has no outcome yet. */
const OPEN: readonly StepStatus[] = ['pending', 'waiting', 'compensating'];

/**
 * Whether a saga has advanced: a step has ended, or waits for a signal, that did not before. That is worth more than
 * records of attempts without an outcome. The workers that were lost so far do not count any more.
 * @param keys the steps that changed
 */
export function hasAdvanced(before: SagaState, after: SagaState, keys: readonly string[]): boolean {
  if (before.status !== after.status || before.round !== after.round) return true;
  return keys.some((key) => {
    const [was, is] = [stepState(before, key), stepState(after, key)];
    return (
      (is.status !== was.status && !OPEN.includes(is.status)) ||
      (is.wait !== undefined && was.wait === undefined) ||
      is.failures > was.failures ||
      is.compensationFailures > was.compensationFailures
    );
  });
}

/** Lost attempts kept per step. */
const LOST_KEPT = 5;

/**
 * Records an attempt that no worker finishes. `lease`: the lease that ran out. A time: the worker released the attempt
 * then.
 */
export function withLoss(
  before: SagaState,
  after: SagaState,
  key: string,
  lease: LostLease | number | undefined,
): SagaState {
  const was = stepState(before, key);
  if (lease === undefined || after === before) return after;
  const lost = lostAttempt(was, stepState(after, key), lease);
  // The probe of an attempt may be lost again and again.
  if (was.lost?.some(({ attempt, during }) => attempt === lost.attempt && during === lost.during))
    return after;
  return withStep(after, key, { lost: [...(stepState(after, key).lost ?? []), lost].slice(-LOST_KEPT) });
}

function lostAttempt(was: StepState, is: StepState, lease: LostLease | number): LostAttempt {
  const isForward = was.status === 'pending' || was.status === 'waiting' || was.status === 'running';
  const which = isForward
    ? ({ attempt: is.attempts, during: 'step' } as const)
    : ({ attempt: is.compensationAttempts, during: 'compensation' } as const);
  if (typeof lease === 'number') return { ...which, lostAt: lease };
  const { worker, from, until, takenOver } = lease;
  const startedAt = Math.min(Math.max(from, was.retryAt ?? 0), until);
  return { ...which, worker, startedAt, lostAt: until, takenOverAt: takenOver };
}
