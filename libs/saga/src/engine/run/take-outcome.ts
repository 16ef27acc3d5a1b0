import type { SagaEvent } from '../../machine/saga-event.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { ENDED } from '../attempt/attempt-events.js';
import type { StepAttempt } from '../attempt/step-attempt.js';
import { isFailure } from '../attempt/transactional-attempt.js';
import type { RunMessage } from './attempt-starter.js';
import type { RunAttempts } from './run-attempts.js';
import type { RunCheckpoints } from './run-checkpoints.js';
import type { RunRecord } from './run-record.js';
import type { RunRequests } from './run-requests.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** The run that has received an outcome. */
export interface ReceivingRun {
  readonly record: RunRecord;
  readonly state: SagaState;
  readonly attempts: RunAttempts;
  readonly checkpoints: RunCheckpoints;
  readonly requests: RunRequests;
  apply(event: SagaEvent): void;
}

type Outcome = Extract<RunMessage, { event: unknown }>;

/** Applies the outcome of an attempt, or another event that the inbox of a run has received. */
export function takeOutcome(
  run: ReceivingRun,
  { attempt, event }: Outcome,
  { clock, now }: Pick<SagaRunPorts, 'clock' | 'now'>,
): void {
  if (attempt) {
    const { active } = stepState(run.state, attempt.step);
    if (!active && attempt.action.kind !== 'cancel-child') return; // interrupted: no longer needed
    run.checkpoints.took(attempt.step, clock.monotonic() - attempt.startedAt);
  }
  const hasBrokenOff = attempt?.isBrokenOff === true && isFailure(event);
  if (event.type === 'interrupted' || hasBrokenOff) return interrupt(run, now());
  const before = run.state;
  run.apply(event);
  if (attempt && ENDED.has(event.type) && run.state !== before) keepEffects(run, attempt);
  run.attempts.abortObsolete(run.record.graph, run.state);
}

/** Whatever is in progress is recorded as unknown, and the lease given back. */
function interrupt({ record, attempts, requests }: ReceivingRun, now: number): void {
  record.apply({ type: 'interrupted', now });
  attempts.clear();
  requests.isDraining = true;
}

/** An attempt that failed, or that the run does not wait for any more, sends no messages, and sets no tags. */
function keepEffects({ checkpoints }: ReceivingRun, attempt: StepAttempt): void {
  checkpoints.publish(attempt.step, attempt.messages.all);
  checkpoints.setTags(attempt.step, attempt.messages.tagChanges);
}
