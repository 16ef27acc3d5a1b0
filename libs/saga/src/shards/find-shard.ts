import type { StoreTarget } from '../engine/ports/saga-store.js';
import type { NewSaga } from '../engine/ports/stored-saga.js';
import { SagaShardUnavailableError } from '../errors.js';
import type { Shard } from './shard.js';
import { ranked } from './rendezvous.js';
import { shardNumberOf } from './shard-id.js';

/** The key by which a saga of this id, or of this correlation id, has its home. */
export function keyOf(target: StoreTarget): string {
  return 'id' in target ? `id ${target.id}` : `correlation ${target.name} ${target.correlationId}`;
}

/** The key by which a saga has its home: its lock key first, since sagas of one lock have one home. */
export function homeKeyOf({
  id,
  name,
  correlationId,
  lockKey,
}: Pick<NewSaga, 'id' | 'name' | 'correlationId' | 'lockKey'>): string {
  if (lockKey !== undefined) return `lock ${name} ${lockKey}`;
  return keyOf(correlationId === undefined ? { id } : { name, correlationId });
}

/** Returns the shard whose number an id carries. Undefined: none has it. */
export function shardOfId(id: string, shards: readonly Shard[]): Shard | undefined {
  const number = shardNumberOf(id);
  return shards.find((shard) => shard.number === number);
}

/** Returns the shards on which a saga may be, the most likely one first. */
export function candidates(target: StoreTarget, shards: readonly Shard[]): [Shard, ...Shard[]] {
  const carried = 'id' in target ? shardOfId(target.id, shards) : undefined;
  if (carried) return [carried, ...shards.filter((shard) => shard !== carried)];
  const inOrder = ranked(shards, keyOf(target));
  const home = inOrder.find(({ accepting }) => accepting) ?? inOrder[0]!;
  return [home, ...inOrder.filter((shard) => shard !== home)];
}

/**
 * Returns the shard of these that has a saga. Undefined: none has it.
 * @throws SagaShardUnavailableError if none of those that can be reached has it, and others cannot be reached
 */
export async function locate(target: StoreTarget, shards: readonly Shard[]): Promise<Shard | undefined> {
  const looks = await Promise.allSettled(shards.map((shard) => shard.ask((engine) => engine.load(target))));
  const at = looks.findIndex((look) => look.status === 'fulfilled' && look.value !== undefined);
  if (at >= 0) return shards[at];
  const failed = looks.find((look) => look.status === 'rejected');
  if (failed) throw failed.reason;
  return undefined;
}

/**
 * Makes a call on the shard that has a saga: on its home first, and then on the one that has it.
 * @param isFound false: the answer says that the shard does not have the saga
 */
export async function onShardOf<T>(
  target: StoreTarget,
  shards: readonly Shard[],
  call: (shard: Shard) => Promise<T>,
  isFound: (answer: T) => boolean,
): Promise<T> {
  const [home, ...others] = candidates(target, shards);
  let answer: T | undefined;
  let unavailable: SagaShardUnavailableError | undefined;
  try {
    answer = await call(home);
    if (isFound(answer)) return answer;
  } catch (error) {
    // The id says where the saga is.
    const isCertain = 'id' in target && shardOfId(target.id, shards) === home;
    if (!(error instanceof SagaShardUnavailableError) || isCertain) throw error;
    unavailable = error;
  }
  const shard = await locate(target, others);
  if (shard) return call(shard);
  if (unavailable) throw unavailable;
  return answer!;
}
