import { SagaShardUnavailableError, SagaUnavailableError } from '../errors.js';
import type { StoredShard } from '../engine/ports/stored-shard.js';
import type { EngineCalls } from './engine-calls.js';
import { ShardHealth } from './shard-health.js';

/** One of several databases of an application, with the engine over it. */
export class Shard {
  readonly health: ShardHealth;
  private state: StoredShard | undefined;
  private opened: EngineCalls | undefined;

  constructor(readonly name: string) {
    this.health = new ShardHealth(name);
  }

  /** Undefined: its database could not be reached since this process has started. */
  get row(): StoredShard | undefined {
    return this.state;
  }

  /** False: it is drained, or was never opened for sagas. A shard of which nothing is known counts as one that accepts. */
  get accepting(): boolean {
    return this.state?.accepting ?? true;
  }

  /** Undefined as for `row`. */
  get number(): number | undefined {
    return this.state?.number;
  }

  /**
   * The engine, for calls in a transaction of the caller, which fails by itself. Other calls are made by `ask()`.
   * @throws SagaShardUnavailableError if its database could not be reached since this process has started
   */
  get engine(): EngineCalls {
    if (this.opened) return this.opened;
    throw this.health.error;
  }

  /** @throws SagaShardUnavailableError at once if the shard cannot be reached, or as soon as it is lost */
  async ask<T>(call: (engine: EngineCalls) => Promise<T>): Promise<T> {
    const { engine } = this;
    return this.health.guard(() => call(engine));
  }

  /** A call that waits for a saga continues when the shard can be reached again. It fails when the shard is closed. */
  readonly wait: EngineCalls['waiters']['wait'] = async (...given) => {
    try {
      return await this.engine.waiters.wait(...given);
    } catch (error) {
      throw this.errorOf(error);
    }
  };

  /** A watcher continues, or fails, as a call that waits. */
  readonly watch: EngineCalls['watchers']['watch'] = (saga, watcher) =>
    this.engine.watchers.watch(saga, {
      changed: (state) => watcher.changed(state),
      failed: (error) => watcher.failed(this.errorOf(error) as Error),
    });

  open(row: StoredShard, engine: EngineCalls): void {
    this.state = row;
    this.opened = engine;
    this.health.found();
  }

  read(row: StoredShard): void {
    this.state = row;
    this.health.found();
  }

  /** The shard is closed: calls fail until it is opened again. */
  close(row: StoredShard): void {
    this.state = row;
    this.opened = undefined;
    this.health.lost(new Error('it is closed'));
  }

  /**
   * Pauses the steps here that are paused on other shards. A step is paused on all shards, and a shard that is added has
   * missed the earlier calls. Shards that cannot be reached are left out.
   */
  async pauseAsOn(shards: readonly Shard[]): Promise<void> {
    for (const other of shards) {
      if (other === this) continue;
      const pauses = await other.ask((engine) => engine.stepPauses(0)).catch(noneIfUnavailable);
      for (const { saga, step, paused, resumed } of pauses)
        if (!resumed) await this.ask((engine) => engine.pauseStep({ saga, step }, paused));
    }
  }

  /** An engine that is stopped because its shard was closed says that the process ends. */
  private errorOf(error: unknown): unknown {
    return error instanceof SagaUnavailableError && !this.health.reachable ? this.health.error : error;
  }
}

function noneIfUnavailable(error: unknown): readonly never[] {
  if (error instanceof SagaShardUnavailableError) return [];
  throw error;
}
