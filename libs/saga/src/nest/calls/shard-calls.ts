import { SagaValidationError } from '../../errors.js';
import { shown } from '../../shared/shown-value.js';
import type { MoveResult } from '../../shards/move-sagas.js';
import type { ServiceParts } from '../assemble-engine.js';
import { readOptions } from './call-options.js';
import { type OperatorOptions, readOperatorOptions } from './operator-options.js';

/** Sagas that one call moves, if it gives no limit. */
const LIMIT = 10_000;

/** Options of `SagaService.drain()` and `admit()`: the operator and the reason. */
export type ShardOperatorOptions = Omit<OperatorOptions, 'expects'>;

/** @throws SagaValidationError if the application has no such shard */
export async function setAccepting(
  { shards }: Pick<ServiceParts, 'shards'>,
  call: 'drain' | 'admit',
  shard: string,
  given: ShardOperatorOptions | undefined,
): Promise<void> {
  const { by, reason } = readOperatorOptions(call, given);
  if (!shards) throw noShards(call, shard);
  await shards.setAccepting(shard, call === 'admit', { by, reason });
}

/** Options of `SagaService.moveSagas()`. */
export interface MoveSagasOptions {
  /** The name of the shard to move the sagas off. It must be drained. */
  readonly from: string;
  /**
   * The name of the shard to move them to. Default: each saga moves to the home of its correlation id, or else of its id,
   * among the shards that accept sagas.
   */
  readonly to?: string;
  /** The maximum number of sagas that the call moves, at least 1. Default: 10,000. */
  readonly limit?: number;
}

/** @throws SagaValidationError for invalid options */
export async function moveSagas(
  { shards }: Pick<ServiceParts, 'shards'>,
  given: MoveSagasOptions,
): Promise<MoveResult> {
  const { from, to, limit = LIMIT } = readOptions('moveSagas(): options', given, ['from', 'to', 'limit']);
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new SagaValidationError(`moveSagas(): limit is ${shown(limit)}; give an integer of at least 1.`);
  if (!shards) throw noShards('moveSagas', from);
  return shards.move({ from, to, limit });
}

export function noShards(call: string, shard: unknown): SagaValidationError {
  return new SagaValidationError(
    `${call}(): the shard is ${shown(shard)}, but the application has no shards. Remove it, or set SagaModule.forRoot({ shards }).`,
  );
}
