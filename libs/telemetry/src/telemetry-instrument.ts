import type { ObservedEvent } from 'nestjs-durable-saga';
import type { NewSaga, StoredSaga } from 'nestjs-durable-saga/internal';
import type {
  AttemptWatch,
  Instrument,
  MeasuredAttempt,
  ObservedSaga,
  StartWatch,
} from 'nestjs-durable-saga/internal/runtime';
import type { SagaMeter } from './saga-meter.js';
import type { SagaTracer } from './saga-tracer.js';

const UNTRACED: StartWatch = { ended: () => undefined, failed: () => undefined };

/** Both, either, or neither. */
export class TelemetryInstrument implements Instrument {
  constructor(
    private readonly tracer: SagaTracer | undefined,
    private readonly meter: SagaMeter | undefined,
  ) {}

  starting(saga: Omit<NewSaga, 'leased'>): StartWatch {
    return this.tracer?.starting(saga) ?? UNTRACED;
  }

  attempting(attempt: MeasuredAttempt): AttemptWatch {
    const count = this.meter?.attempting(attempt);
    const watch = this.tracer?.attempting(attempt);
    return {
      traceparent: watch?.traceparent,
      within: (call) => (watch ? watch.within(call) : call()),
      ended: (event, brokenOff, abortedBy) => {
        count?.(event, brokenOff, abortedBy);
        watch?.ended(event, brokenOff);
      },
    };
  }

  happened(event: ObservedEvent, saga: ObservedSaga): void {
    this.meter?.happened(event, saga);
    this.tracer?.happened(event, saga);
  }

  checkpointing(checkpoints: number): void {
    this.meter?.checkpointing(checkpoints);
  }

  claimed(sagas: readonly StoredSaga[]): void {
    this.meter?.claimed(sagas);
  }

  claimFailed(error: unknown): void {
    this.meter?.claimFailed(error);
  }

  relayFailed(error: unknown): void {
    this.meter?.relayFailed(error);
  }

  leaseLost(saga: StoredSaga): void {
    this.meter?.leaseLost(saga);
  }

  putBack(what: 'start' | 'checkpoint', saga: string): void {
    this.meter?.putBack(what, saga);
  }
}
