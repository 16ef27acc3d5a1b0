import { SagaValidationError } from '../../errors.js';
import { shown } from '../../shared/shown-value.js';
import type { StartedSaga } from '../../shards/place-saga.js';
import type { EngineCalls } from '../../shards/engine-calls.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
import type { ShardCall, ShardChange } from '../../store/postgres/shards/postgres-shard-row.js';
import type { ShardStatus } from '../views/shard-status.js';

/** What a start says about its shard. */
export interface PlaceRequest {
  /** The name that `start()` was given. */
  readonly shard: string | undefined;
  readonly transaction: object | undefined;
  readonly input: unknown;
}

/** A saga with the shard on which it starts. */
export interface PlacedSaga {
  readonly saga: StartedSaga;
  readonly engine: Pick<EngineCalls, 'submit' | 'submitWithin' | 'waiters'>;
  readonly database?: Pick<SagaDatabase, 'join'>;
}

/** The calls that exist only with shards. */
export interface ShardCalls {
  place(saga: StartedSaga, request: PlaceRequest): Promise<PlacedSaga>;
  status(): Promise<ShardStatus[]>;
  change(name: string, call: ShardCall, change: ShardChange): Promise<void>;
}

export function noShards(call: string, shard: unknown): SagaValidationError {
  return new SagaValidationError(
    `${call}(): the shard is ${shown(shard)}, but the application has no shards. Remove it, or set SagaModule.forRoot({ shards }).`,
  );
}
