import type { CleanupStore } from './cleanup-store.js';
import type { GraphStore } from './graph-store.js';
import type { SagaStore } from './saga-store.js';
import type { Wakeup } from './wakeup.js';

/**
 * What an engine stands on: where sagas and their graphs are stored, how ended ones are deleted, and how processes learn of each
 * other. From it `engineServices` makes what the services, the console, the command line and telemetry use, and nothing above
 * knows another way to a stored saga. PostgreSQL is one for each database, and so for each shard; tests have one in memory. Every
 * backend passes `test/contract/saga-store.contract.ts`.
 */
export interface SagaBackend {
  readonly store: SagaStore;
  readonly graphs: GraphStore;
  readonly wakeup: Wakeup;
  readonly cleanup: CleanupStore;
}
