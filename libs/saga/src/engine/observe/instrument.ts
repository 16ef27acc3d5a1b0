import type { ObservedEvent } from '../../definition/types/observed-event.js';
import type { StepAbortedError } from '../../errors.js';
import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import type { ObservedSaga } from './observed-changes.js';
import type { StartResult } from '../ports/saga-store.js';
import type { NewSaga, StoredSaga } from '../ports/stored-saga.js';

/** An attempt that is about to be made. */
export interface MeasuredAttempt {
  readonly saga: StoredSaga;
  /** The step's name. */
  readonly step: string;
  /** The index of the item of a fan-out. */
  readonly index?: number;
  /** The method that is called. */
  readonly method: string;
  readonly kind: Action['kind'];
  /** 1, 2, … */
  readonly attempt: number;
}

export interface AttemptWatch {
  /** The trace context of what follows from the attempt: its messages, and the saga that it starts. */
  readonly traceparent?: string;
  /** Calls the method, so that what it does is known to be the attempt's. */
  within<T>(call: () => T): T;
  /**
   * `brokenOff`: the run did not wait for the attempt any more, because the lease was lost or the process shuts down.
   * `abortedBy`: what aborted `ctx.signal`, if anything did.
   */
  ended(event: SagaEvent, brokenOff: boolean, abortedBy?: StepAbortedError['trigger']): void;
}

export interface StartWatch {
  /** The trace context that is stored with the saga. */
  readonly traceparent?: string;
  ended(result: StartResult): void;
  failed(error: unknown): void;
}

/**
 * Measures what the engine does: the port of the telemetry entry. Called on the path of sagas, so whatever it does has
 * to be quick; what it throws changes nothing.
 */
export interface Instrument {
  /** A saga is about to be stored. */
  starting(saga: Omit<NewSaga, 'leased'>): StartWatch;
  attempting(attempt: MeasuredAttempt): AttemptWatch;
  /** Receives the event that the observers receive, with the stored saga. */
  happened(event: ObservedEvent, saga: ObservedSaga): void;
  /** So many checkpoints are written by one statement. */
  checkpointing(checkpoints: number): void;
  claimed(sagas: readonly StoredSaga[]): void;
  /** The database did not answer a claim, or not with all that it took. */
  claimFailed(error: unknown): void;
  /** A relay could not read the outbox, or store what it has sent. */
  relayFailed(error: unknown): void;
  /** Another worker has taken the saga over, or an operator has. */
  leaseLost(saga: StoredSaga): void;
  /** After a failover, the start or the progress of a saga was stored again. `saga`: its name. */
  putBack(what: 'start' | 'checkpoint', saga: string): void;
}
