import { SagaValidationError } from '../../errors.js';
import { shown } from '../../shared/shown-value.js';
import type { ServiceParts } from '../assemble-engine.js';
import type { ShardCall } from '../../store/postgres/shards/postgres-shard-row.js';
import { type OperatorOptions, readWho } from './operator-options.js';

/** Options of `SagaService.drain()`, `admit()`, `close()` and `open()`: the operator and the reason. */
export type ShardOperatorOptions = Omit<OperatorOptions, 'expects'>;

/** @throws SagaValidationError if the application has no such shard */
export async function changeShard(
  { shards }: Pick<ServiceParts, 'shards'>,
  call: ShardCall,
  shard: string,
  given: ShardOperatorOptions | undefined,
): Promise<void> {
  const who = readWho(call, given);
  if (!shards) throw noShards(call, shard);
  await shards.change(shard, call, who);
}

export function noShards(call: string, shard: unknown): SagaValidationError {
  return new SagaValidationError(
    `${call}(): the shard is ${shown(shard)}, but the application has no shards. Remove it, or set SagaModule.forRoot({ shards }).`,
  );
}
