import type { AttemptError } from '../../definition/types/saga-failure.js';
import type { LostAttemptSnapshot, SagaSnapshot, StepSnapshot } from '../../nest/views/saga-snapshot.js';
import type { StepStatus } from '../../definition/types/saga-status.js';
import { oneLine } from './format.js';

/** Something that happened to a saga. */
export interface TimelineEntry {
  readonly at: Date;
  readonly text: string;
  /** Went wrong, or was done by an operator. */
  readonly kind?: 'trouble' | 'person';
}

/**
 * The texts for the status that a step's last change has left. Other statuses are described by their errors, or not at
 * all.
 */
const CAME_TO: Partial<Record<StepStatus, string>> = {
  completed: 'completed',
  skipped: 'was skipped',
  waiting: 'waits',
  compensating: 'is being compensated',
  compensated: 'was compensated',
  compensation_failed: 'could not be compensated',
  failed: 'failed',
};

/** What happened to a saga, the oldest first; of each step what is stored of it: its last few errors and lost attempts, and where it stands. */
export function timelineOf(saga: SagaSnapshot, byPeople: readonly TimelineEntry[] = []): TimelineEntry[] {
  const ended = saga.finishedAt ? [{ at: saga.finishedAt, text: `the saga ${saga.status}` }] : [];
  const happenings = [
    { at: saga.createdAt, text: 'the saga was started' },
    ...saga.steps.flatMap(entriesOfStep),
    ...byPeople,
  ];
  // The sort is stable: what has one time stays in the order of the graph.
  return [...happenings.sort((a, b) => a.at.getTime() - b.at.getTime()), ...ended];
}

function entriesOfStep(step: StepSnapshot): TimelineEntry[] {
  const { name, status, startedAt, updatedAt, items = [] } = step;
  const errors = step.errors.map((error) => ({
    at: new Date(error.at),
    text: errorOf(name, error),
    kind: 'trouble' as const,
  }));
  const lost = (step.lost ?? []).flatMap((attempt) => lostHappenings(name, attempt));
  const isToldByErrors = status === 'failed' && errors.length > 0;
  const cameTo = isToldByErrors ? undefined : CAME_TO[status];
  const runs = step.runningSince ? [runningHappening(step, step.runningSince)] : [];
  const hasBegun =
    startedAt && lost.length + runs.length === 0 && step.attempts + step.compensationAttempts > 0;
  return [
    // Errors carry the time of the process that they happened in, which may be a little ahead.
    ...(hasBegun ? [{ at: earliest(startedAt, errors[0]?.at), text: `${name} began` }] : []),
    ...lost,
    ...errors,
    ...runs,
    ...items.flatMap(entriesOfStep),
    ...(updatedAt && cameTo !== undefined ? [{ at: updatedAt, text: `${name} ${cameTo}` }] : []),
  ];
}

function lostHappenings(
  name: string,
  { attempt, during, worker, startedAt, lostAt, takenOverAt }: LostAttemptSnapshot,
): TimelineEntry[] {
  const what = `${during === 'compensation' ? `compensation of ${name}` : name}, attempt ${attempt}`;
  const by = worker === undefined ? '' : ` by worker ${worker}`;
  const cause = worker === undefined ? 'its worker was shut down' : `the lease of worker ${worker} expired`;
  return [
    ...(startedAt ? [{ at: startedAt, text: `${what} began${by}` }] : []),
    { at: lostAt, text: `${what} was lost: ${cause}`, kind: 'trouble' },
    ...(takenOverAt ? [{ at: takenOverAt, text: `${what}: another worker took over` }] : []),
  ];
}

function runningHappening(
  { name, status, attempts, compensationAttempts }: StepSnapshot,
  at: Date,
): TimelineEntry {
  return status === 'compensating'
    ? { at, text: `compensation of ${name}, attempt ${compensationAttempts} began` }
    : { at, text: `${name}, attempt ${attempts} began` };
}

function earliest(a: Date, b: Date | undefined): Date {
  return b && b < a ? b : a;
}

function errorOf(name: string, { attempt, during, message }: AttemptError): string {
  const what = during === 'compensation' ? `compensation of ${name}` : name;
  return `${what} failed at attempt ${attempt}: ${oneLine(message)}`;
}
