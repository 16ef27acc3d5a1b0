import { setImmediate as nextTurn } from 'node:timers/promises';
import { liveState, runningSince } from '../../engine/ports/live-state.js';
import type { StoredSummary } from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { decodePayload, samePayload } from '../../engine/payload/payload.js';
import { indexOfKey, itemKey, type SagaGraph, stepOfKey } from '../../definition/graph/saga-graph.js';
import { type LostAttempt, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import type {
  LostAttemptSnapshot,
  SagaOutcome,
  SagaSnapshot,
  SagaSummary,
  StepSnapshot,
} from './saga-snapshot.js';
import { decodeReports, reportKey, type StepReports } from '../../engine/ports/step-reports.js';
import type { StepStatus } from '../../definition/types/saga-status.js';
import { type SnapshotContext, toDate, waitingFor } from './waiting-for.js';
import { decide } from '../../machine/decide.js';
import { describeStep } from '../../machine/describe-step.js';
import { mapSteps } from '../../machine/step-changes.js';
import { ALL, KIND } from '../../machine/data/step-kinds.js';
import { ownStepsOfKinds } from '../../machine/data/step-map.js';
import { undecidedPivot } from '../../machine/pivots.js';
import type { ResultsOf } from '../../definition/types/contexts.js';
import { decodeResults } from '../../engine/payload/decode-results.js';
import type { SettledSaga } from '../../engine/worker/outcome-waiters.js';

const NO_REPORTS: StepReports = new Map();

/** What the steps of a saga have reported. */
function reportsOf({ reports }: StoredSaga): StepReports {
  return reports === undefined ? NO_REPORTS : decodeReports(reports);
}

/** Whose reports count while a step has this status. What has ended is not in progress any more. */
const REPORTING: Partial<Record<StepStatus, 'step' | 'compensation'>> = {
  pending: 'step',
  running: 'step',
  waiting: 'step',
  failed: 'step',
  compensating: 'compensation',
  compensation_failed: 'compensation',
};

/** What a step, or its compensation, reported last in its round. */
function reportedOf(
  reports: StepReports,
  key: string,
  { status }: StepState,
  round: number,
): Pick<StepSnapshot, 'progress' | 'heartbeatAt'> {
  const kind = reports === NO_REPORTS ? undefined : REPORTING[status];
  const report = kind && reports.get(reportKey(key, kind));
  if (report?.round !== round) return {};
  const { progress, heartbeat } = report;
  return {
    ...(progress && { progress: { ...progress, at: new Date(progress.at) } }),
    ...(heartbeat && { heartbeatAt: new Date(heartbeat.at) }),
  };
}

function toLostAttempt({ startedAt, lostAt, takenOverAt, ...lost }: LostAttempt): LostAttemptSnapshot {
  return {
    ...lost,
    ...(startedAt !== undefined && { startedAt: new Date(startedAt) }),
    lostAt: new Date(lostAt),
    ...(takenOverAt !== undefined && { takenOverAt: new Date(takenOverAt) }),
  };
}
/** Items that are converted before other work of the process has its turn. */
const ITEMS_AT_ONCE = 1_000;
async function toStepWithItems(
  saga: StoredSaga,
  live: SagaState,
  name: string,
  reports: StepReports,
): Promise<StepSnapshot> {
  const { items: given, status, result } = live.steps.get(name) ?? PENDING;
  const whole = toStepSnapshot(saga, live, name, reports);
  if (given === undefined) return whole;
  const items: StepSnapshot[] = [];
  for (let index = 0; index < given.length; index += 1) {
    if (index > 0 && index % ITEMS_AT_ONCE === 0) await nextTurn();
    items.push(toStepSnapshot(saga, live, itemKey(name, index), reports));
  }
  if (status !== 'completed' || result !== undefined) return { ...whole, items };
  // As the step that depends on it is given them.
  return { ...whole, result: items.map((item) => item.result ?? null), items };
}
function toStepSnapshot(saga: StoredSaga, live: SagaState, name: string, reports: StepReports): StepSnapshot {
  const step: StepState = live.steps.get(name) ?? PENDING;
  const since = step.active ? runningSince(saga, name) : undefined;
  const times = saga.stepTimes.get(name);
  return {
    name,
    status: step.status,
    attempts: step.attempts,
    compensationAttempts: step.compensationAttempts,
    unknown: step.unknown,
    round: step.round,
    result: decodePayload(step.result),
    errors: step.errors,
    ...(step.lost && { lost: step.lost.map(toLostAttempt) }),
    ...(since !== undefined && { runningSince: new Date(since) }),
    ...reportedOf(reports, name, step, (live.steps.get(stepOfKey(name)) ?? step).round),
    ...(step.continued && { continued: true }),
    ...(step.child && { child: step.child.id }),
    retryAt: toDate(step.retryAt),
    startedAt: toDate(times?.startedAt ?? since),
    updatedAt: toDate(times?.updatedAt),
  };
}
/** As its worker knows it, what is recorded as running is in progress. */
export function standsAt({ state, lockedBy }: StoredSaga, graph: SagaGraph, now: number): string {
  const isInProgress = (step: StepState) => step.status === 'running' && step.items === undefined;
  const live =
    lockedBy === undefined
      ? state
      : mapSteps(state, KIND.running, (step) => (isInProgress(step) ? { ...step, active: true } : step));
  // Of one that stands still: where it would go on.
  const going = live.status === 'paused' ? { ...live, status: live.heldPhase! } : live;
  return describeStep(graph, live, decide(graph, going, now));
}
function pendingOf({ state }: StoredSaga, graph: SagaGraph | undefined): Partial<SagaSnapshot> {
  const { pendingRollback } = state;
  if (!pendingRollback) return {};
  const { failure, rollbackTo } = pendingRollback;
  const step = graph && undecidedPivot(graph, state, rollbackTo);
  return { pendingRollback: { failure, step: step ?? '' } };
}
function startedInputOf({ input, startedWith }: StoredSaga): Pick<SagaSnapshot, 'startedInput'> {
  if (!startedWith || samePayload(startedWith.input, input)) return {};
  return { startedInput: decodePayload(startedWith.input) };
}
export async function toSnapshot(saga: StoredSaga, around: SnapshotContext): Promise<SagaSnapshot> {
  const { graph, now } = around;
  const live = graph ? liveState(saga, graph, now) : saga.state;
  const recorded = [...ownStepsOfKinds(live.steps, ALL)]
    .map(([key]) => key)
    .filter((key) => indexOfKey(key) === undefined);
  const names = new Set([...(graph?.steps.keys() ?? []), ...recorded]);
  const steps: StepSnapshot[] = [];
  const reports = reportsOf(saga);
  for (const name of names) steps.push(await toStepWithItems(saga, live, name, reports));
  const { status, heldPhase } = saga.state;
  return {
    ...summaryOf({ ...saga, status, heldPhase, revision: saga.checkpoints }),
    input: decodePayload(saga.input),
    ...startedInputOf(saga),
    priority: saga.priority,
    step: graph ? standsAt(saga, graph, now) : '',
    round: saga.state.round,
    steps,
    failure: saga.state.failure,
    ...pendingOf(saga, graph),
    ...(saga.state.overtaken && { overtaken: saga.state.overtaken }),
    ...(saga.parent && { parent: saga.parent }),
    waitingFor: waitingFor(saga, around),
    slaAt: toDate(saga.slaAt),
    overdue: saga.slaAt !== undefined && saga.slaAt <= (saga.finishedAt ?? now),
    lockedBy: saga.lockedBy,
  };
}
/** What lists and snapshots show of a saga. */
function summaryOf(saga: Omit<StoredSummary, 'step' | 'error'>) {
  const { id, name, version, status, heldPhase, revision, correlationId = id, tags = {} } = saga;
  return {
    ...{ id, saga: name, version, status, heldPhase, revision, correlationId, tags },
    createdAt: new Date(saga.createdAt),
    updatedAt: new Date(saga.updatedAt),
    finishedAt: toDate(saga.finishedAt),
  };
}

export function toSummary(row: StoredSummary): SagaSummary {
  const { step, error } = row;
  return { ...summaryOf(row), step, error };
}

export function toOutcome<S>({ id, state }: SettledSaga): SagaOutcome<S> {
  return {
    id,
    status: state.status,
    results: decodeResults(state) as Partial<ResultsOf<S>>,
    ...(state.failure && { failure: state.failure }),
  };
}
