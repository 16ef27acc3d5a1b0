import type { StoredShard } from '../engine/ports/stored-shard.js';
import type { MovedNote, SagasOnTheirWay, ShardMoves } from '../engine/ports/shard-moves.js';
import type { StoreTarget } from '../engine/ports/saga-store.js';
import type { EngineCalls } from './engine-calls.js';
import { GuardedEngine } from './guarded-engine.js';
import { ShardHealth } from './shard-health.js';

/** One of several databases of an application, with the engine over it. */
export class Shard {
  readonly health: ShardHealth;
  private state: StoredShard | undefined;
  private engine: GuardedEngine | undefined;
  private ownMoves: ShardMoves | undefined;

  constructor(
    readonly name: string,
    /** Milliseconds for which a call waits for a saga that is on its way from this shard to another one. */
    readonly movePatience = 5_000,
  ) {
    this.health = new ShardHealth(name);
  }

  /** Undefined: its database could not be reached since this process has started. */
  get row(): StoredShard | undefined {
    return this.state;
  }

  /** False: it is drained, or was never admitted. A shard of which nothing is known counts as one that accepts. */
  get accepting(): boolean {
    return this.state?.accepting ?? true;
  }

  /** @throws SagaShardUnavailableError if its database could not be reached since this process has started */
  get calls(): EngineCalls {
    if (this.engine) return this.engine;
    throw this.health.error;
  }

  /** Undefined as for `row`. */
  get number(): number | undefined {
    return this.state?.number;
  }

  /** Undefined as for `row`. */
  get moves(): ShardMoves | undefined {
    return this.ownMoves;
  }

  /** Returns where a saga has gone that was on this shard. Undefined: it was not, or is there. */
  async noteOf(target: StoreTarget): Promise<MovedNote | undefined> {
    const { ownMoves } = this;
    return ownMoves && this.health.guard(() => ownMoves.noteOf(target));
  }

  /** The sagas that have left this shard, and have not arrived on another one. */
  async onTheirWay(): Promise<SagasOnTheirWay> {
    const { ownMoves } = this;
    if (!ownMoves) return { count: 0, oldest: 0 };
    return this.health.guard(() => ownMoves.onTheirWay());
  }

  /** @param moves undefined: no saga ever leaves the shard */
  opened(row: StoredShard, engine: EngineCalls, moves?: ShardMoves): void {
    this.state = row;
    this.ownMoves = moves;
    this.engine = new GuardedEngine(engine, this.health);
    this.health.found();
  }

  /** Reads again what the database says of itself, if this process can. A shard that cannot be read is left as it is known. */
  refresh: () => Promise<void> = () => Promise.resolve();

  read(row: StoredShard): void {
    this.state = row;
    this.health.found();
  }
}
