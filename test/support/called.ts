import type { DataSource } from 'typeorm';
import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';
import type { NewSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import type { PostgresCleanup } from '../../libs/saga/src/store/postgres/cleanup/postgres-cleanup.js';
import type { PostgresPartitions } from '../../libs/saga/src/store/postgres/partitions/postgres-partitions.js';
import type { PostgresSagaStore } from '../../libs/saga/src/store/postgres/postgres-saga-store.js';
import type { PostgresRates } from '../../libs/saga/src/store/postgres/read/postgres-rates.js';
import type { CalledMessaging } from './messaging-calls.js';
import { type CalledStore, checkpointOf, LEASE, newSagas } from './store-calls.js';

/** All that sends statements. */
export interface Called extends CalledStore, CalledMessaging {
  readonly application: DataSource;
  /** The store, with pages of SMALL_PAGE bytes. */
  readonly inSmallPages: PostgresSagaStore;
  readonly cleanup: PostgresCleanup;
  readonly partitions: PostgresPartitions;
  readonly rates: PostgresRates;
}

/** Starts a saga, as the first part of a call. */
export const started = async ({ store }: Called, given: Partial<NewSaga> = {}): Promise<NewSaga> => {
  const [saga] = newSagas(given, 1) as [NewSaga];
  await store.start([saga], LEASE);
  return saga;
};

/** The state of a saga whose step is in progress. */
export const running = (saga: NewSaga): SagaState => checkpointOf(saga, ['reserve']).state;
