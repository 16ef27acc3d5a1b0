import { ShardedEngine } from '../../shards/sharded-engine.js';
import type { Shard } from '../../shards/shard.js';
import type { ShardPlace } from '../application-database.js';
import type { ProcessParts } from '../engine-runtime.js';
import type { Running } from '../running.js';
import { ApplicationShards } from './application-shards.js';
import { ShardedRates } from './sharded-rates.js';
import { ShardedRuntime } from './sharded-runtime.js';
import type { GraphStore, StoredGraph } from '../../engine/ports/graph-store.js';
import type { ShardRuntime } from './shard-runtime.js';
import { CLEANUP_LIMIT, type CleanupOptions, type CleanupResult } from '../maintenance/saga.cleanup.js';
import type { ServiceParts } from '../assemble-engine.js';

/**
 * Makes what a process with several databases uses: an engine, a worker and maintenance for each database, and one engine
 * before them that finds the database of a call.
 * @throws SagaConfigurationError
 * @throws SagaShardUnavailableError if no shard can be reached
 */
export async function shardedProcess(
  places: ReadonlyMap<string, ShardPlace>,
  shared: ProcessParts,
): Promise<Running> {
  const process = await ShardedRuntime.over(places, shared);
  const { registry, options } = shared;
  const shards = process.all.map(({ shard }) => shard) as [Shard, ...Shard[]];
  const calls = new ApplicationShards(process.all, options);
  const engine = new ShardedEngine(shards, (transaction) => calls.ofTransaction(transaction));
  const rates = new ShardedRates(process.all);
  return {
    ...{ engine, registry, options, process, shards: calls },
    graphs: new ShardedGraphs(process.all, engine),
    cleanup: new ShardedCleanup(process.all),
    rates: async (ask) => ({ value: await ask(rates) }),
  };
}

/** The graphs of sagas, as the shard that a saga was read from stores them: revisions are numbered by each shard. */
class ShardedGraphs implements Pick<GraphStore, 'stored'> {
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

/** Deletes ended sagas of all shards, one after the other. */
class ShardedCleanup implements Pick<ServiceParts['cleanup'], 'cleanup'> {
  constructor(private readonly shards: readonly ShardRuntime[]) {}

  /** `more` also if a shard cannot be reached. */
  async cleanup(options: CleanupOptions | undefined): Promise<CleanupResult> {
    let [deleted, more] = [0, false];
    for (const { opened, shard } of this.shards) {
      if (!opened || !shard.health.reachable) {
        more = true;
        continue;
      }
      // Before anything is deleted, the call itself checks its options.
      const left = deleted > 0 ? (options?.limit ?? CLEANUP_LIMIT) - deleted : 1;
      const { cleanup } = opened.parts;
      const result =
        left > 0
          ? await cleanup.cleanup(deleted > 0 ? { ...options, limit: left } : options)
          : await cleanup.cleanup({ ...options, limit: 1, dryRun: true });
      if (left > 0) deleted += result.deleted;
      more ||= result.more || (left <= 0 && result.deleted > 0);
    }
    return { deleted, more };
  }
}
