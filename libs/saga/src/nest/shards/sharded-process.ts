import { ShardedEngine } from '../../shards/sharded-engine.js';
import type { Shard } from '../../shards/shard.js';
import type { ShardPlace } from '../application-database.js';
import type { SharedParts } from '../database-runtime.js';
import type { Running } from '../running.js';
import { ApplicationShards } from './application-shards.js';
import { ShardedCleanup } from './sharded-cleanup.js';
import { ShardedGraphs } from './sharded-graphs.js';
import { ShardedRates } from './sharded-rates.js';
import { ShardedRuntime } from './sharded-runtime.js';

/**
 * Makes what a process with several databases uses: an engine, a worker and maintenance for each database, and one engine
 * before them that finds the database of a call.
 * @throws SagaConfigurationError
 * @throws SagaShardUnavailableError if no shard can be reached
 */
export async function shardedProcess(
  places: ReadonlyMap<string, ShardPlace>,
  shared: SharedParts,
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
