import type { Type } from '@nestjs/common';
import { buildSagaGraph } from '../../libs/saga/src/definition/build/build-saga-graph.js';
import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoredShard } from '../../libs/saga/src/engine/ports/stored-shard.js';
import { SagaEngine } from '../../libs/saga/src/engine/saga-engine.js';
import { placeSaga, type StartedSaga } from '../../libs/saga/src/shards/place-saga.js';
import { idOnShard } from '../../libs/saga/src/shards/shard-id.js';
import { Shard } from '../../libs/saga/src/shards/shard.js';
import { ShardedEngine } from '../../libs/saga/src/shards/sharded-engine.js';
import { never } from '../../libs/saga/src/testing/test-process.js';
import { ConnectionGone, type ForgetfulDatabase, partBy } from './forgetful-database.js';
import type { Dice } from './rng.js';
import { SimulatedClock } from './simulated-clock.js';
import type { Life, Timeline } from './timeline.js';

const LEASE = 5_000;
/** Milliseconds between two looks at each shard. */
export const POLL = 1_000;
const QUIET = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

/** A database of the world, with what it says of itself as a shard. */
export interface SimulatedShard {
  row: StoredShard;
  readonly database: ForgetfulDatabase;
}

export interface ShardedProcessOptions {
  readonly name: string;
  /** Whether it runs sagas. */
  readonly isWorker: boolean;
  readonly types: readonly Type[];
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly life: Life;
}

/** A process with an engine for each shard, and one before them. It looks at each shard at each poll. */
export class ShardedProcess {
  readonly engine: ShardedEngine;
  /** Resolves when each shard was read, or could not be reached, for the first time. */
  readonly ready: Promise<unknown>;
  private readonly shards: readonly Shard[];
  private ids = 0;

  constructor(
    shards: readonly SimulatedShard[],
    private readonly options: ShardedProcessOptions,
  ) {
    const all = shards.map((shard) => this.open(shard));
    const opened = all.map(({ shard }) => shard) as [Shard, ...Shard[]];
    this.ready = Promise.all(all.map(({ looked }) => looked));
    this.shards = opened;
    this.engine = new ShardedEngine(opened, async () => {
      throw new Error('no transactions');
    });
  }

  /** Starts a saga where its keys lead, as SagaService does. Returns the id of the saga that is there afterwards. */
  async start(saga: StartedSaga): Promise<string> {
    const placed = await placeSaga(saga, this.shards, undefined);
    const result = await placed.shard.ask((one) => one.submit(placed.saga));
    return result.created ? placed.saga.id : result.existing!.id;
  }

  /** A shard is opened when its database answers for the first time. */
  private open(simulated: SimulatedShard): { readonly shard: Shard; readonly looked: Promise<void> } {
    const { timeline, life } = this.options;
    const { database } = simulated;
    const shard = new Shard(simulated.row.name);
    const read = () => this.send(database, async () => simulated.row);
    let engine: SagaEngine | undefined;
    const found = (row: StoredShard) => {
      if (engine) return shard.read(row);
      engine = this.engineOver(this.connect(database), database, row);
      shard.open(row, engine);
      void engine.start();
    };
    const tick = async () => {
      timeline.after(POLL, () => void tick(), life);
      engine?.tick();
      // A connection of the pool may be a broken one.
      await read()
        .catch(read)
        .then(found, (error: unknown) => shard.health.lost(error));
    };
    return { shard, looked: tick() };
  }

  private engineOver(store: SagaStore, database: ForgetfulDatabase, row: StoredShard): SagaEngine {
    const { name, isWorker, types, timeline, dice, life } = this.options;
    const runnable = types.map((type) => {
      const instance = new type() as Record<string, (context: object) => unknown>;
      return {
        graph: buildSagaGraph(type),
        // A process that is dead does not ask the outside for anything.
        invoke: (method: string, ctx: object) => (life.isAlive ? instance[method]!(ctx) : never()),
      };
    });
    return new SagaEngine(
      store,
      database.hub.wakeup(),
      isWorker ? runnable : [],
      { latest: (type) => buildSagaGraph(type), checked: async (_, input) => input },
      {
        workerId: name,
        worker: isWorker ? { concurrency: 20, shutdownTimeout: 1_000, maxTakeovers: 20 } : undefined,
        ...{ lease: LEASE, maxPayloadBytes: 2 ** 20, random: dice.next },
        clock: new SimulatedClock(timeline, life, dice),
        newId: () => idOnShard(`${name}/${(this.ids += 1)}-0000`, row.number),
      },
      QUIET,
    );
  }

  /** Makes a call of a database. The answer is lost if it goes down meanwhile. */
  private async send<T>(database: ForgetfulDatabase, call: () => Promise<T>): Promise<T> {
    const { timeline, dice, life } = this.options;
    const pass = () => new Promise<void>((resolve) => void timeline.after(dice.long(0.2, 50), resolve, life));
    if (!life.call()) return never();
    await pass();
    if (database.isDown) throw new ConnectionGone();
    const answer = await call();
    await pass();
    if (database.isDown) throw new ConnectionGone();
    return answer;
  }

  /** The store as this process has it. */
  private connect(database: ForgetfulDatabase): SagaStore {
    const send = (name: string, parameters: readonly unknown[]) =>
      this.send(database, () => database.execute(name, parameters));
    return new Proxy({} as SagaStore, {
      get: (_, name) => {
        if (name === 'then') return undefined;
        if (name === 'lastFailoverAt') return -Infinity;
        const part = partBy(name, send);
        if (part) return part;
        if (name === 'isOutage' || name === 'isTransient')
          return (error: unknown) => error instanceof ConnectionGone;
        if (name === 'refuses') return () => false;
        return (...parameters: readonly unknown[]) => send(String(name), parameters);
      },
    });
  }
}
