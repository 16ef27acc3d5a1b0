import type { MethodContext } from '../ports/invoker.js';
import type { Clock } from '../../shared/clock.js';
import type { StoreClock } from '../../shared/store-clock.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaDefinitions } from '../ports/saga-definitions.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { Wakeup } from '../ports/wakeup.js';
import type { SagaBindings } from '../versions/saga-bindings.js';
import type { Recovery } from '../write/recovery.js';
import type { SagaEdits } from '../write/saga-edits.js';
import type { SagaWriters } from '../write/saga-writers.js';
import type { StepPauses } from '../pause/step-pauses.js';
import type { StoreRetry } from '../write/store-retry.js';
import type { SettledSaga } from './outcome-waiters.js';

export interface WorkerOptions {
  /** Sagas advanced at once. Default: adapts itself to the load, the store and the heap. */
  readonly concurrency?: number;
  /** Sagas that may wait for a slot, in memory. Default: as many as can begin within a sixth of the lease. */
  readonly ahead?: number;
  /** Milliseconds. */
  readonly shutdownTimeout: number;
  /** A saga that lost its worker this often, with nothing recorded in between, is stuck. */
  readonly maxTakeovers: number;
  readonly maxPayloadBytes: number;
  /** Bytes of large sagas held at once; a larger one runs alone. Default: 128 MB, or an eighth of the heap if that is less. */
  readonly maxHeldBytes?: number;
  /** Timers are not set further ahead than this (ms); the poll covers the rest. Default: a minute. */
  readonly longestWait?: number;
  /** Calls methods. Default: they are called directly. */
  readonly within?: MethodContext;
}

/** Learns what becomes of the sagas that a worker runs. */
export interface RunListener {
  settled(saga: SettledSaga): void;
  /** The saga does not run here any more, and is not settled. */
  left(id: string): void;
  /** What steps of the saga have reported is stored. */
  reported(id: string): void;
}

export interface WorkerPorts {
  readonly store: SagaStore;
  readonly retry: StoreRetry;
  readonly writers: SagaWriters;
  /** Undefined: nothing is put back after a failover. */
  readonly recovery?: Recovery;
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  readonly random: () => number;
  /** A UUID. */
  readonly newId: () => string;
  readonly log: EngineLog;
  readonly bindings: SagaBindings;
  readonly definitions: SagaDefinitions;
  readonly edits: SagaEdits;
  readonly pauses: StepPauses;
  readonly observers: SagaObservers;
  readonly listener: RunListener;
  /** Announces what may be due for other processes, if this worker has no room for it. */
  readonly wakeup: Pick<Wakeup, 'announceDue'>;
}
