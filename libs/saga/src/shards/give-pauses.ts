import { SagaShardUnavailableError } from '../errors.js';
import type { Shard } from './shard.js';

/**
 * Pauses the steps on a shard that are paused on others. A step is paused on all shards, and a shard that is added has missed
 * the earlier calls. Shards that cannot be reached are left out.
 */
export async function givePauses(to: Shard, others: readonly Shard[]): Promise<void> {
  for (const other of others) {
    const pauses = await pausesOf(other);
    for (const { saga, step, paused, resumed } of pauses)
      if (!resumed) await to.calls.pauseStep({ saga, step }, paused);
  }
}

async function pausesOf(shard: Shard) {
  try {
    return await shard.calls.stepPauses(0);
  } catch (error) {
    if (error instanceof SagaShardUnavailableError) return [];
    throw error;
  }
}
