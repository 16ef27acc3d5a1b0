import type { StoredShard } from '../engine/ports/stored-shard.js';
import type { MovedNote, SagasOnTheirWay, ShardMoves } from '../engine/ports/shard-moves.js';
import type { StoreTarget } from '../engine/ports/saga-store.js';
import type { EngineCalls } from './engine-calls.js';
import { GuardedEngine } from './guarded-engine.js';
import { ShardHealth } from './shard-health.js';

/** Repeats a call after transient errors of the database. */
type Retrying = <T>(call: () => Promise<T>) => Promise<T>;

/** One of several databases of an application, with the engine over it. */
export class Shard {
  readonly health: ShardHealth;
  private state: StoredShard | undefined;
  private engine: GuardedEngine | undefined;
  private ownMoves: ShardMoves | undefined;
  private retrying: Retrying = (call) => call();

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
    return this.ask((moves) => moves.noteOf(target));
  }

  /** The sagas that have left this shard, and have not arrived on another one. */
  async onTheirWay(): Promise<SagasOnTheirWay> {
    return (await this.ask((moves) => moves.onTheirWay())) ?? { count: 0, oldest: 0 };
  }

  /**
   * @param moves undefined: no saga ever leaves the shard
   * @param retrying repeats calls of the moves that only read, as the engine repeats its own. Default: none is repeated
   */
  opened(row: StoredShard, engine: EngineCalls, moves?: ShardMoves, retrying?: Retrying): void {
    this.state = row;
    this.ownMoves = moves;
    if (retrying) this.retrying = retrying;
    this.engine = new GuardedEngine(engine, this.health);
    this.health.found();
  }

  /** Undefined: no saga ever leaves the shard. */
  private async ask<T>(question: (moves: ShardMoves) => Promise<T>): Promise<T | undefined> {
    const { ownMoves } = this;
    return ownMoves && this.health.guard(() => this.retrying(() => question(ownMoves)));
  }

  /** Reads again what the database says of itself, if this process can. A shard that cannot be read is left as it is known. */
  refresh: () => Promise<void> = () => Promise.resolve();

  read(row: StoredShard): void {
    this.state = row;
    this.health.found();
  }
}
