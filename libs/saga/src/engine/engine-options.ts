import type { SagaGraph } from '../definition/graph/saga-graph.js';
import type { Clock } from '../shared/clock.js';
import type { SagaObservers } from './observe/saga-observers.js';
import type { MethodContext } from './ports/invoker.js';
import type { StoredSaga } from './ports/stored-saga.js';
import type { WorkerOptions } from './worker/worker-ports.js';
import type { RecoveryBounds } from './write/recent-sagas.js';

export interface EngineOptions {
  /** The name of this process among those that hold leases. */
  readonly workerId: string;
  /** Undefined: this process starts and queries sagas but runs none. */
  readonly worker?: Omit<WorkerOptions, 'maxPayloadBytes'>;
  /** False: no schedule starts a saga by itself. Default: those of the sagas that the worker runs do. */
  readonly schedules?: boolean;
  /** Milliseconds. */
  readonly lease: number;
  readonly maxPayloadBytes: number;
  /** See SagaWatchersOptions. Default: 250 ms. */
  readonly watchInterval?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** 0 to 1; default: Math.random. */
  readonly random?: () => number;
  /** Makes the ids of sub-sagas and messages; default: UUIDv7. */
  readonly newId?: () => string;
  /** Default: none. */
  readonly observers?: SagaObservers;
  /** Calls methods of sagas. Default: they are called directly. */
  readonly within?: MethodContext;
  /** What is put back after a failover that lost commits. Default: nothing. */
  readonly recovery?: RecoveryBounds;
  /** Refuses an operator's change of a saga by throwing. Default: none is refused. */
  readonly checkEdit?: CheckEdit;
}

/** `graph` is undefined if this application does not have the graph of the saga. */
export type CheckEdit = (saga: StoredSaga, graph: SagaGraph | undefined) => void;
