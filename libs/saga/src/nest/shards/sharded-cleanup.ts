import { LIMIT, type CleanupOptions, type CleanupResult } from '../maintenance/saga.cleanup.js';
import type { ServiceParts } from '../assemble-engine.js';
import type { ShardRuntime } from './shard-runtime.js';

/** Deletes ended sagas of all shards, one after the other. */
export class ShardedCleanup implements Pick<ServiceParts['cleanup'], 'cleanup'> {
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
      const left = deleted > 0 ? (options?.limit ?? LIMIT) - deleted : 1;
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
