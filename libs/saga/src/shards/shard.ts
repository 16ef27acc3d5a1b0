import type { StoredShard } from '../engine/ports/stored-shard.js';
import type { EngineCalls } from './engine-calls.js';
import { GuardedEngine } from './guarded-engine.js';
import { ShardHealth } from './shard-health.js';

/** One of several databases of an application, with the engine over it. */
export class Shard {
  readonly health: ShardHealth;
  private state: StoredShard | undefined;
  private engine: GuardedEngine | undefined;

  constructor(readonly name: string) {
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

  opened(row: StoredShard, engine: EngineCalls): void {
    this.state = row;
    this.engine = new GuardedEngine(engine, this.health);
    this.health.found();
  }

  read(row: StoredShard): void {
    this.state = row;
    this.health.found();
  }

  /** The shard is closed: calls fail until it is opened again. */
  closed(row: StoredShard): void {
    this.state = row;
    this.engine = undefined;
    this.health.lost(new Error('it is closed'));
  }
}
