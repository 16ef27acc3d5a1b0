import { noShards } from '../nest/calls/shard-calls.js';
import type { ShardCalls } from '../nest/shards/shard-calls.js';
import type { EngineCalls } from '../shards/engine-calls.js';

/** A test has one store, in the place of every shard that a start names. */
export function anyShard(engine: EngineCalls): ShardCalls {
  return {
    place: async (saga) => ({ saga, engine }),
    status: async () => [],
    change: async (name, call) => {
      throw noShards(call, name);
    },
  };
}
