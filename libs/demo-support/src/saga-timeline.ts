import type { SagaFailure, SagaSnapshot, SagaStatus } from 'nestjs-durable-saga';
import { describeWait, type TimelineEntry, timelineOf } from 'nestjs-durable-saga/operators';

/** What happened to a saga, oldest first, in words. */
export interface SagaTimeline {
  readonly sagaId: string;
  readonly saga: string;
  readonly status: SagaStatus;
  /** The failure that made the saga roll back. */
  readonly failure?: string;
  /** Why it does not move right now. */
  readonly waitingFor?: string;
  /** The worker that has it now. */
  readonly heldBy?: string;
  readonly events: readonly TimelineEntry[];
}

export function toTimeline(snapshot: SagaSnapshot): SagaTimeline {
  const { id, saga, version, status, failure, waitingFor, lockedBy } = snapshot;
  return {
    sagaId: id,
    saga: `${saga} v${version}`,
    status,
    failure: failure && describeFailure(failure),
    waitingFor: waitingFor && describeWait(waitingFor),
    heldBy: lockedBy,
    events: timelineOf(snapshot),
  };
}

function describeFailure({ kind, step, error, reason }: SagaFailure): string {
  const what = error?.message ?? reason;
  return `${kind}${step ? ` at ${step}` : ''}${what ? `: ${what}` : ''}`;
}
