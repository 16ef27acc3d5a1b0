import type { AttemptError } from '../../definition/types/saga-failure.js';
import { NEEDS_ATTENTION, type SagaStatus, type StepStatus } from '../../definition/types/saga-status.js';
import { describeOperation } from './describe-operation.js';
import type { HistoryEntry } from './saga-history.js';
import type { LostAttemptSnapshot, SagaSnapshot, StepSnapshot } from './saga-snapshot.js';

/** An event in the life of a saga, with the time at which it happened. */
export interface TimelineEntry {
  /** The time of the event. An error has the time of the process in which it happened, but not before its step started. */
  readonly at: Date;
  /**
   * The event. `saga` and `step`: the saga or the step reached `status`. `attempt-started`, `attempt-failed`,
   * `attempt-lost` (its worker died or was shut down) and `attempt-taken-over`: `attempt` of `step` did. `operation`: an
   * operator acted on the saga, or it received a signal.
   */
  readonly kind:
    | 'saga'
    | 'step'
    | 'attempt-started'
    | 'attempt-failed'
    | 'attempt-lost'
    | 'attempt-taken-over'
    | 'operation';
  /** The event in words, without the message of `error`: `ship failed at attempt 3`. */
  readonly text: string;
  /** The step, or the item of a step. Absent if the event concerns the whole saga. */
  readonly step?: string;
  /** The status that the saga or the step reached. */
  readonly status?: SagaStatus | StepStatus;
  /** The number of the attempt, from 1. Of a completed step, of its last attempt. */
  readonly attempt?: number;
  /** Whether it was an attempt of the step or of its compensation. */
  readonly during?: 'step' | 'compensation';
  /** The error of a failed attempt. */
  readonly error?: AttemptError;
  /** Milliseconds from the start of the step to this event. Only of a completed step. */
  readonly durationMs?: number;
}

/**
 * The texts for the status that a step's last change has left. Other statuses are described by their errors, or not at
 * all.
 */
const REACHED: Partial<Record<StepStatus, string>> = {
  completed: 'completed',
  skipped: 'was skipped',
  waiting: 'waits',
  compensating: 'is being compensated',
  compensated: 'was compensated',
  compensation_failed: 'could not be compensated',
  failed: 'failed',
};

/**
 * Returns what happened to a saga, oldest first. Only what is stored can be in it: the start and the last change of each
 * step, its last few errors and lost attempts, and the end of the saga. The start of a step that was compensated since is
 * in it, and the time at which it had completed is not.
 * @param saga the snapshot that `get()` returns
 * @param history what `history()` returns, to add the operators' actions. A text has the `input` or `result` of its entry,
 *   if the entry has one: remove it from the entry if it may be secret.
 */
export function timelineOf(saga: SagaSnapshot, history: readonly HistoryEntry[] = []): TimelineEntry[] {
  const entries: TimelineEntry[] = [
    { at: saga.createdAt, kind: 'saga', status: 'running', text: 'the saga was started' },
    ...saga.steps.flatMap(entriesOfStep),
    ...history.map(operationEntry),
  ];
  if (NEEDS_ATTENTION.includes(saga.status)) entries.push(sagaEntry(saga, saga.updatedAt, 'is '));
  const sorted = oldestFirst(entries);
  if (saga.finishedAt) sorted.push(sagaEntry(saga, saga.finishedAt));
  return sorted;
}

/**
 * A fast saga has many events in one millisecond. Those are in the order in which they must have happened: steps in the
 * order of the graph, then compensations in reverse, then what became of the saga.
 */
function oldestFirst(entries: readonly TimelineEntry[]): TimelineEntry[] {
  const places = new Map<string, number>();
  for (const { step } of entries) if (step !== undefined && !places.has(step)) places.set(step, places.size);
  const placeOf = ({ step = '' }: TimelineEntry) => places.get(step) ?? 0;
  return [...entries].sort((a, b) => {
    const phase = phaseOf(a);
    return (
      a.at.getTime() - b.at.getTime() ||
      phase - phaseOf(b) ||
      (phase === PHASES.compensation ? placeOf(b) - placeOf(a) : 0)
    );
  });
}

const PHASES = { start: 0, forward: 1, compensation: 2, attention: 3 };

function phaseOf({ kind, status, during }: TimelineEntry): number {
  if (kind === 'saga') return status === 'running' ? PHASES.start : PHASES.attention;
  const isCompensation = during === 'compensation' || status?.startsWith('compensat');
  return isCompensation ? PHASES.compensation : PHASES.forward;
}

function sagaEntry({ status }: SagaSnapshot, at: Date, verb = ''): TimelineEntry {
  return { at, kind: 'saga', status, text: `the saga ${verb}${status}` };
}

function operationEntry(entry: HistoryEntry): TimelineEntry {
  const { at, step } = entry;
  const text = describeOperation(entry);
  return { at, kind: 'operation', ...(step !== undefined && { step }), text };
}

function entriesOfStep(step: StepSnapshot): TimelineEntry[] {
  const { name, startedAt, errors, lost = [], items = [] } = step;
  const hasBegun =
    startedAt && lost.length === 0 && !step.runningSince && step.attempts + step.compensationAttempts > 0;
  return [
    ...(hasBegun ? [beganEntry(name, startedAt)] : []),
    ...lost.flatMap((attempt) => lostEntries(name, attempt)),
    ...errors.map((error) => errorEntry(name, error, startedAt)),
    ...(step.runningSince ? [runningEntry(step, step.runningSince)] : []),
    ...items.flatMap(entriesOfStep),
    ...reachedEntries(step),
  ];
}

function beganEntry(step: string, at: Date): TimelineEntry {
  return { at, kind: 'step', step, status: 'running', text: `${step} began` };
}

/**
 * Errors have the time of the process in which they happened, and everything else has the time of the database: an error is
 * not shown before its step started.
 */
function errorEntry(step: string, error: AttemptError, startedAt: Date | undefined): TimelineEntry {
  const { attempt, during } = error;
  const text = `${subjectOf(step, during)} failed at attempt ${attempt}`;
  const failedAt = new Date(error.at);
  const at = startedAt && startedAt > failedAt ? startedAt : failedAt;
  return { at, kind: 'attempt-failed', step, attempt, during, error, text };
}

function lostEntries(step: string, lost: LostAttemptSnapshot): TimelineEntry[] {
  const { attempt, during, worker, startedAt, lostAt, takenOverAt } = lost;
  const of = { step, attempt, during };
  const what = `${subjectOf(step, during)}, attempt ${attempt}`;
  const on = worker === undefined ? '' : ` on worker ${worker}`;
  const cause = worker === undefined ? 'its worker was shut down' : `the lease of worker ${worker} expired`;
  const entries: TimelineEntry[] = [
    { at: lostAt, kind: 'attempt-lost', ...of, text: `${what} was lost: ${cause}` },
  ];
  if (startedAt)
    entries.unshift({ at: startedAt, kind: 'attempt-started', ...of, text: `${what} began${on}` });
  if (takenOverAt)
    entries.push({
      ...{ at: takenOverAt, kind: 'attempt-taken-over', ...of },
      text: `${what}: another worker took over`,
    });
  return entries;
}

function runningEntry({ name, status, ...step }: StepSnapshot, at: Date): TimelineEntry {
  const during = status === 'compensating' ? 'compensation' : 'step';
  const attempt = during === 'compensation' ? step.compensationAttempts : step.attempts;
  const text = `${subjectOf(name, during)}, attempt ${attempt} began`;
  return { at, kind: 'attempt-started', step: name, attempt, during, text };
}

function reachedEntries({
  name,
  status,
  attempts,
  errors,
  startedAt,
  updatedAt,
}: StepSnapshot): TimelineEntry[] {
  const reached = status === 'failed' && errors.length > 0 ? undefined : REACHED[status];
  if (!updatedAt || reached === undefined) return [];
  const of = { at: updatedAt, kind: 'step', step: name, status } as const;
  if (status !== 'completed') return [{ ...of, text: `${name} ${reached}` }];
  const text = `${name} ${reached}${attempts > 1 ? ` at attempt ${attempts}` : ''}`;
  const durationMs = startedAt && Math.max(0, updatedAt.getTime() - startedAt.getTime());
  return [{ ...of, text, attempt: attempts, ...(durationMs !== undefined && { durationMs }) }];
}

function subjectOf(step: string, during: 'step' | 'compensation'): string {
  return during === 'compensation' ? `compensation of ${step}` : step;
}
