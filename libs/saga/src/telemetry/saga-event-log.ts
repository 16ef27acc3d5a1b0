import type { ObservedEvent } from '../definition/types/observed-event.js';
import type { EngineLog, LogSubject } from '../engine/ports/engine-log.js';
import type { SagaFailure, SerializedError } from '../definition/types/saga-failure.js';

/** Writes what has become of sagas into the log, and in detail what was tried. That one needs an operator is there anyway. */
export class SagaEventLog {
  constructor(private readonly log: EngineLog) {}

  write(event: ObservedEvent): void {
    const { id: sagaId, saga } = event;
    const whose: LogSubject = 'step' in event ? { sagaId, saga, step: event.step } : { sagaId, saga };
    const line = (what: string) => `Saga ${sagaId} (${saga}@${event.version}) ${what}`;
    switch (event.type) {
      case 'compensating':
        return this.log.log(line(`compensates: ${reasonOf(event.failure)}`), whose);
      case 'aborted':
        return this.log.log(line('was aborted'), whose);
      case 'step-failed':
      case 'compensation-failed': {
        const what = event.type === 'step-failed' ? 'step' : 'compensation of step';
        const next = event.retryAt ? `next attempt at ${event.retryAt.toISOString()}` : 'retries exhausted';
        const told = line(
          `attempt ${event.attempt} of ${what} '${event.step}' failed, ${next}${because(event.error)}`,
        );
        return event.retryAt ? this.log.debug(told, whose) : this.log.log(told, whose);
      }
      default:
        return undefined;
    }
  }
}

function because(error: SerializedError | undefined): string {
  return error ? `: ${error.message}` : '';
}

function reasonOf({ kind, step, error, reason }: SagaFailure): string {
  const why = error?.message ?? reason;
  return `${kind}${step === undefined ? '' : ` at ${step}`}${why === undefined ? '' : `, ${why}`}`;
}
