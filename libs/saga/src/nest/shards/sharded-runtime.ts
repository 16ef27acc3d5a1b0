import type { SagaEngine } from '../../engine/saga-engine.js';
import { serializeError } from '../../engine/payload/serialize-error.js';
import type { ShardPlace } from '../application-database.js';
import type { DatabaseRuntime } from '../database-runtime.js';
import type { ProcessParts } from '../engine-runtime.js';
import { connectShards } from './register-shards.js';
import { ShardRuntime } from './shard-runtime.js';

const NEW = 'it is new, and is set up when all shards can be reached';

/** The shards of a process in the life of the application. A shard that cannot be reached keeps none of the others. */
export class ShardedRuntime {
  readonly all: readonly [ShardRuntime, ...ShardRuntime[]];
  private connecting: Promise<unknown> | undefined;
  private refusal: string | undefined;
  private drained = false;

  private constructor(
    places: ReadonlyMap<string, ShardPlace>,
    private readonly shared: ProcessParts,
  ) {
    const shards = [...places].map(([name, place], n) => new ShardRuntime(name, place, shared, n === 0));
    this.all = shards as [ShardRuntime, ...ShardRuntime[]];
  }

  /** @throws SagaConfigurationError, or SagaShardUnavailableError if no shard can be reached */
  static async over(places: ReadonlyMap<string, ShardPlace>, shared: ProcessParts): Promise<ShardedRuntime> {
    const runtime = new ShardedRuntime(places, shared);
    await runtime.connect();
    if (runtime.opened.length === 0) throw runtime.all[0].shard.health.error;
    return runtime;
  }

  /** For calls that wait before the application has started. */
  get waiters(): Pick<SagaEngine['waiters'], 'waitsForOthers' | 'poll'> {
    const all = this.opened.map(({ waiters }) => waiters);
    return {
      waitsForOthers: all.some(({ waitsForOthers }) => waitsForOthers),
      poll: () => all.forEach((waiters) => waiters.poll()),
    };
  }

  async begin(): Promise<void> {
    for (const shard of this.all) await shard.begin();
  }

  tick(): void {
    for (const shard of this.all) shard.tick();
    if (this.opened.length < this.all.length) this.reconnect();
  }

  async drain(): Promise<void> {
    this.drained = true;
    await this.connecting;
    await Promise.all(this.all.map((shard) => shard.drain()));
  }

  async retire(): Promise<void> {
    await Promise.all(this.opened.map((runtime) => runtime.retire()));
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.map((runtime) => runtime.close()));
  }

  private get opened(): DatabaseRuntime[] {
    return this.all.flatMap(({ opened }) => opened ?? []);
  }

  /** Opens the shards that can be reached. */
  private async connect(): Promise<void> {
    const rows = await connectShards(this.all);
    for (const [n, named] of rows.entries()) {
      const shard = this.all[n]!;
      if (named?.row) await shard.open(named.row);
      else if (named) shard.shard.health.lost(new Error(NEW));
    }
    const shards = this.all.map(({ shard }) => shard);
    for (const added of shards)
      if (added.row && !added.row.accepting && !added.row.changed) await added.pauseAsOn(shards);
  }

  private reconnect(): void {
    if (this.drained) return;
    this.connecting ??= this.connect()
      .then(() => (this.refusal = undefined))
      .catch((error: unknown) => this.refused(serializeError(error).message))
      .then(() => (this.connecting = undefined));
  }

  /** Logs once why a shard could not be set up. Each poll tries it again. */
  private refused(message: string): void {
    if (message !== this.refusal) this.shared.log.error(`A shard could not be set up: ${message}`);
    this.refusal = message;
  }
}
