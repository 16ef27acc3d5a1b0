import { serializeError } from '../../engine/payload/serialize-error.js';
import type { EngineLog } from '../../engine/ports/engine-log.js';
import { finishMoves } from '../../shards/move-sagas.js';
import type { Shard } from '../../shards/shard.js';
import { movingShard } from './application-shards.js';

/** Milliseconds between two looks at a shard. */
const LOOK = 5_000;
/** Milliseconds after which a move counts as interrupted. A move takes three transactions. */
const PATIENCE = 10_000;

/**
 * Finds moves of sagas that were interrupted, since their process has ended or lost a database, and finishes them. All
 * processes do, without a word to each other: each transaction of a move may be repeated, and is decided once.
 */
export class InterruptedMoves {
  private last = -Infinity;
  private looking: Promise<void> | undefined;
  /** By the name of the shard. */
  private readonly refusals = new Map<string, string>();

  constructor(
    private readonly shards: readonly Shard[],
    private readonly log: Pick<EngineLog, 'warn' | 'error'>,
  ) {}

  /** To be called at each poll. */
  tick(): void {
    if (this.looking || performance.now() - this.last < LOOK) return;
    this.last = performance.now();
    this.looking = this.look().finally(() => (this.looking = undefined));
  }

  /** Resolves when no look is in progress. */
  async close(): Promise<void> {
    this.last = Infinity;
    await this.looking;
  }

  private async look(): Promise<void> {
    for (const shard of this.shards) {
      // No saga was ever moved off a shard that was never drained.
      if (!shard.row?.changed || !shard.moves || !shard.health.reachable) continue;
      try {
        await this.finish(shard);
      } catch (error) {
        this.refused(shard, serializeError(error).message);
      }
    }
  }

  private async finish(shard: Shard): Promise<void> {
    const { count, oldest } = await shard.onTheirWay();
    if (count === 0) this.refusals.delete(shard.name);
    if (count === 0 || oldest < PATIENCE) return;
    const from = { ...movingShard(shard), moves: shard.moves! };
    const finished = await finishMoves({ from, shards: this.shards.map(movingShard) }, PATIENCE);
    if (finished > 0)
      this.log.warn(
        `${finished} saga(s) were on their way from shard '${shard.name}', the oldest for ${Math.round(oldest / 1_000)} s: a call of ` +
          `moveSagas() was interrupted. Their moves are finished now.`,
      );
    else
      this.refused(
        shard,
        `${count} saga(s) are on their way to shards that cannot be reached, or are not among the shards of this process`,
      );
  }

  /** It is tried again at the next look. The log has it once. */
  private refused({ name, health }: Shard, message: string): void {
    if (!health.reachable || message === this.refusals.get(name)) return;
    this.refusals.set(name, message);
    this.log.error(
      `Moves of sagas from shard '${name}' were interrupted, and could not be finished: ${message}`,
    );
  }
}
