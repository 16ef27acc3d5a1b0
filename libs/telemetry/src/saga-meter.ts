import type { Meter } from '@opentelemetry/api';
import type { ObservedEvent } from 'nestjs-durable-saga';
import { type StoredSaga, isEnd, serializeError } from 'nestjs-durable-saga/internal';
import type { AttemptWatch, MeasuredAttempt, ObservedSaga } from 'nestjs-durable-saga/internal/runtime';
import { ATTRIBUTE, errorIn, attemptKindOf, outcomeOf } from './saga-attributes.js';
import { countersOf, histogramsOf } from './saga-metrics.js';

/** Counts and times what this process does. */
export class SagaMeter {
  private readonly counters;
  private readonly histograms;

  constructor(meter: Meter) {
    this.counters = countersOf(meter);
    this.histograms = histogramsOf(meter);
  }

  /** To be called with how the attempt ended. */
  attempting(attempt: MeasuredAttempt): AttemptWatch['ended'] {
    const beganAt = performance.now();
    const step = { [ATTRIBUTE.saga]: attempt.saga.name, [ATTRIBUTE.step]: attempt.step };
    return (event, brokenOff, abortedBy) => {
      const error = errorIn(event);
      const attributes = {
        ...step,
        [ATTRIBUTE.kind]: attemptKindOf(attempt),
        [ATTRIBUTE.outcome]: outcomeOf(event, brokenOff),
        ...(error && { [ATTRIBUTE.error]: error.name }),
      };
      this.histograms.stepDuration.record((performance.now() - beganAt) / 1_000, attributes);
      this.counters.stepAttempts.add(1, attributes);
      if (abortedBy === 'heartbeat') this.counters.heartbeatLosses.add(1, step);
    };
  }

  happened(event: ObservedEvent, { createdAt }: ObservedSaga): void {
    const name = { [ATTRIBUTE.saga]: event.saga };
    if (event.type === 'started') this.counters.started.add(1, name);
    if (!isEnd(event)) return;
    const attributes = { ...name, [ATTRIBUTE.status]: event.status };
    this.counters.finished.add(1, attributes);
    this.histograms.duration.record(Math.max(0, event.at.getTime() - createdAt) / 1_000, attributes);
  }

  checkpointing(checkpoints: number): void {
    this.histograms.checkpointBatch.record(checkpoints);
  }

  claimed(sagas: readonly StoredSaga[]): void {
    this.histograms.claimBatch.record(sagas.length);
    for (const { name, takeovers } of sagas)
      if (takeovers > 0) this.counters.takeovers.add(1, { [ATTRIBUTE.saga]: name });
  }

  claimFailed(error: unknown): void {
    this.counters.claimFailures.add(1, { [ATTRIBUTE.error]: serializeError(error).name });
  }

  relayFailed(error: unknown): void {
    this.counters.relayFailures.add(1, { [ATTRIBUTE.error]: serializeError(error).name });
  }

  leaseLost({ name }: StoredSaga): void {
    this.counters.leaseLosses.add(1, { [ATTRIBUTE.saga]: name });
  }

  putBack(what: 'start' | 'checkpoint', saga: string): void {
    this.counters.putBacks.add(1, { [ATTRIBUTE.saga]: saga, [ATTRIBUTE.putBack]: what });
  }
}
