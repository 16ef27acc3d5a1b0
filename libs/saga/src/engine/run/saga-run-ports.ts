import type { SagaWriters } from '../write/saga-writers.js';
import type { AttemptRunner } from '../attempt/attempt-runner.js';
import type { Clock } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { RunReports } from './run-reports.js';
import type { MadeCheckpoint } from '../write/made-checkpoint.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import type { SagaDefinitions } from '../ports/saga-definitions.js';
import type { SagaEdits } from '../write/saga-edits.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { StoreRetry } from '../write/store-retry.js';
import type { FreeSlots, StepSlotStore } from '../ports/step-slots.js';
import type { CheckpointResult } from '../ports/checkpoint.js';
import type { KnownPauses } from '../ports/step-pause.js';
import type { StoredSaga } from '../ports/stored-saga.js';

/** A run as the keeper of its lease knows it. */
export interface LeasedRun {
  readonly id: string;
  readonly epoch: number;
  /** Monotonic time, not after the lease began. */
  readonly heldSince: number;
  /** When the lease was last asked for, by the process's monotonic clock in ms. */
  leasedAt: number;
  /** The lease is another worker's. */
  fence(): void;
  cancel(reason: string | undefined): void;
  pause(): void;
  /** The lease ran out before it could be renewed. */
  leaseExpired(): void;
  /** What its steps have reported. Undefined: nothing. */
  readonly reported?: RunReports;
}

/** What a run needs of its worker. */
export interface SagaRunPorts {
  readonly observers: SagaObservers;
  readonly attempts: AttemptRunner;
  readonly checkpoint: (checkpoint: MadeCheckpoint) => Promise<CheckpointResult>;
  /** The store took so many milliseconds for a checkpoint. */
  readonly answered: (duration: number) => void;
  readonly transact: SagaWriters['transact'];
  readonly store: Pick<SagaStore, 'edit' | 'ended' | 'isOutage' | 'isTransient' | 'refuses'>;
  readonly retry: Pick<StoreRetry, 'run'>;
  /** Takes times from a rate limit. */
  readonly reserve: SagaStore['reserve'];
  readonly takeSlots: StepSlotStore['take'];
  /** Never rejects. */
  readonly freeSlots: FreeSlots;
  /**
   * The time (ms) before a permit at which this process must hold the attempt, for all runs of a worker. If answers take longer than
   * a permit is valid, permits are requested for later times. 0 where answers are quick.
   */
  readonly permits: { lead: number };
  readonly clock: Clock;
  /** The store's time. */
  readonly now: () => number;
  readonly random: () => number;
  readonly maxPayloadBytes: number;
  /** Makes the ids of messages: a UUID. */
  readonly newId: () => string;
  /** Milliseconds of a lease. */
  readonly lease: number;
  /** No other saga waits for the slot of a saga of this name. */
  readonly hasRoom: (name: string) => boolean;
  /** Asks whether the lease still is this run's, and extends it. `longer`: so many ms more than usual, in which it is not renewed. */
  readonly renew: (run: LeasedRun, longer?: number) => Promise<void>;
  /** What was asked of it that it may not know of; undefined: the lease is lost. */
  readonly asked: (
    run: LeasedRun,
  ) => Promise<Pick<StoredSaga, 'cancelRequested' | 'pauseRequested'> | undefined>;
  /** A step has reported something that is to be stored soon. */
  readonly reportSoon: () => void;
  readonly definitions: Pick<SagaDefinitions, 'latest' | 'checked'>;
  /** Changes the sagas that steps have started. */
  readonly edits: Pick<SagaEdits, 'edit'>;
  /** Claims soon: a checkpoint has made other sagas due. */
  readonly claimSoon: () => void;
  /** What a saga was sent and has not taken. */
  readonly pendingSignals: SagaStore['pendingSignals'];
  /** The steps that operators have paused. */
  readonly pauses: KnownPauses;
  readonly log: EngineLog;
}

/** How a run ended: idle, given back until `dueAt`, or taken away. */
export type RunEnd =
  | { readonly type: 'settled' }
  | { readonly type: 'released'; readonly dueAt: number | undefined }
  | { readonly type: 'fenced' };
