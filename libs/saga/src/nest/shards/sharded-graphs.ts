import type { GraphStore, StoredGraph } from '../../engine/ports/graph-store.js';
import type { ShardedEngine } from '../../shards/sharded-engine.js';
import type { ShardRuntime } from './shard-runtime.js';

/** The graphs of sagas, as the shard that a saga was read from stores them: revisions are numbered by each shard. */
export class ShardedGraphs implements Pick<GraphStore, 'stored'> {
  constructor(
    private readonly shards: readonly ShardRuntime[],
    private readonly engine: Pick<ShardedEngine, 'shardOf'>,
  ) {}

  readonly stored: GraphStore['stored'] = async (sagas) => {
    const stored: StoredGraph[] = [];
    for (const saga of sagas) {
      const shard = this.engine.shardOf(saga);
      const { opened } = this.shards.find((one) => one.shard === shard)!;
      if (!opened) throw shard.health.error;
      stored.push(...(await shard.health.guard(() => opened.parts.graphs.stored([saga]))));
    }
    return stored;
  };
}
