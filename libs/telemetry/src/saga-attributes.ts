import type { Attributes } from '@opentelemetry/api';
import type { SagaEvent } from 'nestjs-durable-saga/internal';
import type { MeasuredAttempt } from 'nestjs-durable-saga/internal/runtime';

/** Names of attributes, of spans and metrics alike. Those that would make a time series of each saga are for spans only. */
export const ATTRIBUTE = {
  saga: 'saga.name',
  version: 'saga.version',
  id: 'saga.id',
  correlationId: 'saga.correlation_id',
  status: 'saga.status',
  created: 'saga.created',
  takeovers: 'saga.takeovers',
  step: 'saga.step.name',
  kind: 'saga.step.kind',
  index: 'saga.step.index',
  attempt: 'saga.step.attempt',
  outcome: 'saga.step.outcome',
  putBack: 'saga.put_back.what',
  /** OpenTelemetry's own. */
  method: 'code.function.name',
  error: 'error.type',
} as const;

interface Identified {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly correlationId?: string;
}

export function sagaAttributes({ id, name, version, correlationId }: Identified): Attributes {
  return {
    [ATTRIBUTE.saga]: name,
    [ATTRIBUTE.version]: version,
    [ATTRIBUTE.id]: id,
    [ATTRIBUTE.correlationId]: correlationId ?? id,
  };
}

export type AttemptKind = 'run' | 'compensate' | 'probe';

/** What is done for the step: its method, its compensation, or the question what became of it. */
export function attemptKindOf({ kind }: MeasuredAttempt): AttemptKind {
  return kind === 'compensate' || kind === 'probe' ? kind : 'run';
}

/** How an attempt ended. `interrupted`: the lease was lost, or the process shut down. */
export type AttemptOutcome = 'completed' | 'failed' | 'rejected' | 'timeout' | 'interrupted';

export function outcomeOf(event: SagaEvent, brokenOff: boolean): AttemptOutcome {
  if (event.type !== 'step-failed' && event.type !== 'compensation-failed') return 'completed';
  if (brokenOff) return 'interrupted';
  if (event.type === 'compensation-failed') return 'failed';
  return event.kind === 'error' ? 'failed' : event.kind;
}

export function errorIn(event: SagaEvent) {
  return event.type === 'step-failed' || event.type === 'compensation-failed' ? event.error : undefined;
}
