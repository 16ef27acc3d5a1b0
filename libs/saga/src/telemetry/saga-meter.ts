import type { Meter } from '@opentelemetry/api';
import { isEnd, type ObservedEvent } from '../definition/types/observed-event.js';
import type { AttemptWatch, MeasuredAttempt } from '../engine/observe/instrument.js';
import type { ObservedSaga } from '../engine/observe/observed-changes.js';
import type { StoredSaga } from '../engine/ports/stored-saga.js';
import { serializeError } from '../engine/payload/serialize-error.js';
import { ATTRIBUTE, errorIn, kindOf, outcomeOf } from './saga-attributes.js';
import { counterOf, histogramOf } from './saga-metrics.js';

/** Counts and times what this process does. */
export class SagaMeter {
  private readonly started;
  private readonly finished;
  private readonly duration;
  private readonly stepDuration;
  private readonly stepAttempts;
  private readonly heartbeatLosses;
  private readonly leaseLosses;
  private readonly takeovers;
  private readonly checkpointBatch;
  private readonly claimBatch;
  private readonly claimFailures;
  private readonly relayFailures;
  private readonly putBacks;

  constructor(meter: Meter) {
    this.started = counterOf(meter, 'started');
    this.finished = counterOf(meter, 'finished');
    this.duration = histogramOf(meter, 'duration');
    this.stepDuration = histogramOf(meter, 'stepDuration');
    this.stepAttempts = counterOf(meter, 'stepAttempts');
    this.heartbeatLosses = counterOf(meter, 'heartbeatLosses');
    this.leaseLosses = counterOf(meter, 'leaseLosses');
    this.takeovers = counterOf(meter, 'takeovers');
    this.checkpointBatch = histogramOf(meter, 'checkpointBatch');
    this.claimBatch = histogramOf(meter, 'claimBatch');
    this.claimFailures = counterOf(meter, 'claimFailures');
    this.relayFailures = counterOf(meter, 'relayFailures');
    this.putBacks = counterOf(meter, 'putBacks');
  }

  /** To be called with how the attempt ended. */
  attempting(attempt: MeasuredAttempt): AttemptWatch['ended'] {
    const beganAt = performance.now();
    const step = { [ATTRIBUTE.saga]: attempt.saga.name, [ATTRIBUTE.step]: attempt.step };
    return (event, brokenOff, abortedBy) => {
      const error = errorIn(event);
      const attributes = {
        ...step,
        [ATTRIBUTE.kind]: kindOf(attempt),
        [ATTRIBUTE.outcome]: outcomeOf(event, brokenOff),
        ...(error && { [ATTRIBUTE.error]: error.name }),
      };
      this.stepDuration.record((performance.now() - beganAt) / 1_000, attributes);
      this.stepAttempts.add(1, attributes);
      if (abortedBy === 'heartbeat') this.heartbeatLosses.add(1, step);
    };
  }

  happened(event: ObservedEvent, { createdAt }: ObservedSaga): void {
    const name = { [ATTRIBUTE.saga]: event.saga };
    if (event.type === 'started') this.started.add(1, name);
    if (!isEnd(event)) return;
    const attributes = { ...name, [ATTRIBUTE.status]: event.status };
    this.finished.add(1, attributes);
    this.duration.record(Math.max(0, event.at.getTime() - createdAt) / 1_000, attributes);
  }

  checkpointing(checkpoints: number): void {
    this.checkpointBatch.record(checkpoints);
  }

  claimed(sagas: readonly StoredSaga[]): void {
    this.claimBatch.record(sagas.length);
    for (const { name, takeovers } of sagas)
      if (takeovers > 0) this.takeovers.add(1, { [ATTRIBUTE.saga]: name });
  }

  claimFailed(error: unknown): void {
    this.claimFailures.add(1, { [ATTRIBUTE.error]: serializeError(error).name });
  }

  relayFailed(error: unknown): void {
    this.relayFailures.add(1, { [ATTRIBUTE.error]: serializeError(error).name });
  }

  leaseLost({ name }: StoredSaga): void {
    this.leaseLosses.add(1, { [ATTRIBUTE.saga]: name });
  }

  putBack(what: 'start' | 'checkpoint', saga: string): void {
    this.putBacks.add(1, { [ATTRIBUTE.saga]: saga, [ATTRIBUTE.putBack]: what });
  }
}
