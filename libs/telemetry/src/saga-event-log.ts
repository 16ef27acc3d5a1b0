import type { ObservedEvent, SagaFailure, SerializedError } from 'nestjs-durable-saga';
import type { EngineLog, LogSubject } from 'nestjs-durable-saga/internal';

/** Writes what has become of sagas into the log, and in detail what was tried. That one needs an operator is there anyway. */
export class SagaEventLog {
  constructor(
    private readonly log: EngineLog,
    /** False: what errors and reasons say is left out. */
    private readonly showsMessages = true,
  ) {}

  write(event: ObservedEvent): void {
    const { id: sagaId, saga } = event;
    const whose: LogSubject = 'step' in event ? { sagaId, saga, step: event.step } : { sagaId, saga };
    const line = (what: string) => `Saga ${sagaId} (${saga}@${event.version}) ${what}`;
    switch (event.type) {
      case 'compensating':
        return this.log.log(line(`compensates: ${this.reasonOf(event.failure)}`), whose);
      case 'aborted':
        return this.log.log(line('was aborted'), whose);
      case 'step-failed':
      case 'compensation-failed': {
        const what = event.type === 'step-failed' ? 'step' : 'compensation of step';
        const next = event.retryAt ? `next attempt at ${event.retryAt.toISOString()}` : 'retries exhausted';
        const told = line(
          `attempt ${event.attempt} of ${what} '${event.step}' failed, ${next}${this.because(event.error)}`,
        );
        return event.retryAt ? this.log.debug(told, whose) : this.log.log(told, whose);
      }
      default:
        return undefined;
    }
  }

  private because(error: SerializedError | undefined): string {
    return error ? `: ${this.textOf(error)}` : '';
  }

  private reasonOf({ kind, step, error, reason }: SagaFailure): string {
    const why = error ? this.textOf(error) : this.showsMessages ? reason : undefined;
    return `${kind}${step === undefined ? '' : ` at ${step}`}${why === undefined ? '' : `, ${why}`}`;
  }

  private textOf({ name, message }: SerializedError): string {
    return this.showsMessages ? message : name;
  }
}
