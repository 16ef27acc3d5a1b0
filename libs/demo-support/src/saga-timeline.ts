import type { AttemptError, SagaFailure, SagaSnapshot, SagaStatus, StepSnapshot } from 'nestjs-durable-saga';

/** What happened to a saga, oldest first, in words. */
export interface SagaTimeline {
  readonly sagaId: string;
  readonly saga: string;
  readonly status: SagaStatus;
  /** What made it turn back. */
  readonly failure?: string;
  /** Why it does not move right now. */
  readonly waitingFor?: string;
  /** The worker that has it now. */
  readonly heldBy?: string;
  readonly events: readonly TimelineEvent[];
}

export interface TimelineEvent {
  readonly at: Date;
  readonly step?: string;
  readonly event:
    'started' | 'done' | 'attempt failed' | 'undone' | 'undoing failed' | 'gave up' | SagaStatus;
  /** Attempts of the step, or of undoing it, up to here. */
  readonly attempt?: number;
  readonly error?: string;
  readonly note?: string;
}

export function toTimeline(snapshot: SagaSnapshot): SagaTimeline {
  const { id, saga, version, status, failure, lockedBy, createdAt, updatedAt, finishedAt } = snapshot;
  // The steps come one after the other, and are undone in reverse: no need to compare the clocks of two machines.
  const events: TimelineEvent[] = [
    { at: createdAt, event: 'started' },
    ...snapshot.steps.flatMap(forward),
    ...snapshot.steps.toReversed().flatMap(backward),
  ];
  if (finishedAt ?? status === 'stuck') events.push({ at: finishedAt ?? updatedAt, event: status });
  return {
    sagaId: id,
    saga: `${saga} v${version}`,
    status,
    failure: failure && describeFailure(failure),
    waitingFor: describeWait(snapshot),
    heldBy: lockedBy,
    events,
  };
}

function forward(step: StepSnapshot): TimelineEvent[] {
  const failed = step.errors.filter(({ during }) => during === 'step');
  const events = failed.map((error) => failedAttempt(step, error, 'attempt failed'));
  const completed = step.status === 'completed';
  const undoing = step.status.startsWith('compensat') && !step.unknown;
  if (!step.startedAt || !(completed || undoing)) return events;
  // Of a step that was undone since, only the time of its beginning is kept.
  const at = completed ? step.updatedAt! : step.startedAt;
  return [
    ...events,
    { at, step: step.name, event: 'done', attempt: step.attempts, note: lostAttempts(step) },
  ];
}

function backward(step: StepSnapshot): TimelineEvent[] {
  const failed = step.errors.filter(({ during }) => during === 'compensation');
  const events = failed.map((error) => failedAttempt(step, error, 'undoing failed'));
  const end = { at: step.updatedAt!, step: step.name, attempt: step.compensationAttempts };
  if (step.status === 'compensated') events.push({ ...end, event: 'undone' });
  if (step.status === 'compensation_failed') events.push({ ...end, event: 'gave up' });
  return events;
}

function failedAttempt(
  { name }: StepSnapshot,
  { attempt, at, name: error, message, cause }: AttemptError,
  event: 'attempt failed' | 'undoing failed',
): TimelineEvent {
  return { at: new Date(at), step: name, event, attempt, error: `${cause?.name ?? error}: ${message}` };
}

/** An attempt that neither failed nor completed was lost with the worker that made it. */
function lostAttempts({ attempts, errors }: StepSnapshot): string | undefined {
  const lost = attempts - 1 - errors.filter(({ during }) => during === 'step').length;
  return lost > 0 ? `${lost} attempt(s) before were lost with their worker` : undefined;
}

function describeFailure({ kind, step, error, reason }: SagaFailure): string {
  const what = error?.message ?? reason;
  return `${kind}${step ? ` at ${step}` : ''}${what ? `: ${what}` : ''}`;
}

function describeWait({ waitingFor }: SagaSnapshot): string | undefined {
  switch (waitingFor?.kind) {
    case undefined:
      return undefined;
    case 'retry':
      return `another attempt of ${waitingFor.step} at ${waitingFor.at.toISOString()}`;
    case 'delay':
      return `its time, ${waitingFor.until.toISOString()}`;
    case 'signal':
      return `the signal ${waitingFor.signal}`;
    case 'worker':
      return `a worker, since ${waitingFor.since.toISOString()}`;
    case 'person':
      return `a person, at ${waitingFor.steps.join(', ')}`;
  }
}
