import { SagaNotFoundError, SagaShardUnavailableError } from '../errors.js';
import type { StoredSaga } from '../engine/ports/stored-saga.js';
import { candidates, isCertain, locate } from './find-shard.js';
import type { EngineCalls } from './engine-calls.js';
import type { Shard } from './shard.js';

export interface WaitOptions {
  /** Where the saga was just started. Undefined: its id says where it is. */
  readonly first: Shard | undefined;
  /** Milliseconds. */
  readonly timeout: number | undefined;
  readonly isUncommitted: (() => boolean) | undefined;
}

/** Waits for a saga on the shard that has it. If it moves to another shard meanwhile, the call continues to wait there. */
export async function waitOverMoves(
  id: string,
  { first, timeout, isUncommitted }: WaitOptions,
  shards: readonly Shard[],
): ReturnType<EngineCalls['waiters']['wait']> {
  const began = performance.now();
  const left = () => timeout && Math.max(1, timeout - (performance.now() - began));
  let shard = first ?? (await likelyShardOf(id, shards));
  for (;;) {
    try {
      return await shard.calls.waiters.wait(id, left(), isUncommitted);
    } catch (error) {
      if (!(error instanceof SagaNotFoundError)) throw error;
      const next = await locate({ id }, shards, shards);
      // Deleted; or still not committed where it was started.
      if (!next) throw error;
      shard = next;
    }
  }
}

/** Its home. If that cannot be reached, and the saga has moved to another shard since: the other one. */
async function likelyShardOf(id: string, shards: readonly Shard[]): Promise<Shard> {
  const [home, ...others] = candidates({ id }, shards);
  if ((home.row && home.health.reachable) || isCertain({ id }, home, shards)) return home;
  const found = await locate({ id }, others, shards).catch((error: unknown) => {
    if (error instanceof SagaShardUnavailableError) return undefined;
    throw error;
  });
  return found ?? home;
}

export interface ShardWatcher {
  changed(saga: StoredSaga, shard: Shard): void;
  failed(error: Error): void;
}

/** Watches a saga on its shard. If it moves to another shard, it is watched there from then on. */
export function watchOverMoves(
  saga: StoredSaga,
  shard: Shard,
  shards: readonly Shard[],
  watcher: ShardWatcher,
): () => void {
  let isOver = false;
  let leave: () => void = () => undefined;
  let latest = saga;
  const follow = async (error: Error): Promise<void> => {
    try {
      const next = error instanceof SagaNotFoundError && (await locate({ id: saga.id }, shards, shards));
      if (!next) throw error;
      if (!isOver) watchOn(next);
    } catch (failure) {
      if (!isOver) watcher.failed(failure as Error);
    }
  };
  const watchOn = (on: Shard): void => {
    leave = on.calls.watchers.watch(latest, {
      changed: (state) => {
        latest = state;
        watcher.changed(state, on);
      },
      failed: (error) => void follow(error),
    });
  };
  watchOn(shard);
  return () => {
    isOver = true;
    leave();
  };
}
