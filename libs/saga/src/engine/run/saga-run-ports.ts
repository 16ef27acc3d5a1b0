import type { AttemptRunner } from '../attempt/attempt-runner.js';
import type { ChildSagas } from './child-sagas.js';
import type { Clock } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { PermitLead } from './permits.js';
import type { MadeCheckpoint } from '../write/made-checkpoint.js';
import type { RunCheckpointsPorts } from './run-checkpoints.js';
import type { SagaRun } from './saga-run.js';
import type { CheckpointResult, SagaStore, StoredSaga } from '../ports/saga-store.js';

/** What a run needs of its worker. */
export interface SagaRunPorts extends RunCheckpointsPorts {
  readonly attempts: AttemptRunner;
  readonly checkpoint: (checkpoint: MadeCheckpoint) => Promise<CheckpointResult>;
  readonly store: Pick<SagaStore, 'transact' | 'edit' | 'isTransient'>;
  /** Takes times from a rate limit. */
  readonly reserve: SagaStore['reserve'];
  /** The same for all runs of a worker. */
  readonly permits: PermitLead;
  readonly clock: Clock;
  readonly random: () => number;
  readonly maxPayloadBytes: number;
  /** Makes the ids of messages: a UUID. */
  readonly newId: () => string;
  /** Milliseconds of a lease. */
  readonly lease: number;
  /** Nobody waits for the place that a saga of this name has here. */
  readonly hasRoom: (name: string) => boolean;
  /** Asks whether the lease still is this run's, and extends it. */
  /** `longer`: so many ms more than usual, in which it is not renewed. */
  readonly renew: (run: SagaRun, longer?: number) => Promise<void>;
  /** What was asked of it that it may not know of; undefined: the lease is lost. */
  readonly asked: (
    run: SagaRun,
  ) => Promise<Pick<StoredSaga, 'cancelRequested' | 'pauseRequested'> | undefined>;
  readonly children: ChildSagas;
  /** What a saga was sent and has not taken. */
  readonly unheard: SagaStore['unheard'];
  readonly log: EngineLog;
}

/** How a run ended: at rest, given back until `dueAt`, or taken away. */
export type RunEnd =
  | { readonly type: 'settled' }
  | { readonly type: 'released'; readonly dueAt: number | undefined }
  | { readonly type: 'fenced' };
