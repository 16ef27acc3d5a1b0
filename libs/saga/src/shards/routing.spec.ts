import type { EntityManager } from 'typeorm';
import { SagaShardUnavailableError, SagaStateError } from '../errors.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import { SagaEngine } from '../engine/saga-engine.js';
import { newId } from '../shared/new-id.js';
import { MemorySagaStore } from '../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../store/memory/memory-wakeup.js';
import type { EngineCalls } from './engine-calls.js';
import type { StoredShard } from '../engine/ports/stored-shard.js';
import type { StartedSaga } from './place-saga.js';
import { Shard } from './shard.js';
import { ShardedEngine } from './sharded-engine.js';

const SILENT: EngineLog = { log() {}, warn() {}, error() {}, debug() {} };
/** More of them: SHARD_SEEDS=1000. */
const HISTORIES = Number(process.env.SHARD_SEEDS ?? 10);
const STEPS = 60;
const KEYS = Array.from({ length: 12 }, (_, n) => `order-${n}`);

/** A random number generator that gives the same numbers for a seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A database with an engine over it. */
interface Database {
  row: StoredShard;
  readonly engine: EngineCalls;
  readonly store: MemorySagaStore;
  reachable: boolean;
}

function database(row: StoredShard): Database {
  const wakeup = new MemoryWakeupHub().wakeup();
  const store = new MemorySagaStore({ wakeup, manager: {} as EntityManager });
  const options = { workerId: row.name, lease: 30_000, maxPayloadBytes: 1_000 };
  const definitions = {
    awaitedSignals: {},
    latest: () => {
      throw new Error('no sub-sagas');
    },
    checked: async (_graph: unknown, input: unknown) => input,
  };
  const engine = new SagaEngine(store, wakeup, [], definitions, options, SILENT);
  return { row, store, engine, reachable: true };
}

/** The databases of an application, and a process that knows of each what it last read. */
class World {
  readonly databases: Database[] = [];
  shards!: [Shard, ...Shard[]];
  engine!: ShardedEngine;
  private added = 0;

  constructor(names: readonly string[]) {
    for (const name of names) this.add(name, true);
    this.restart();
  }

  add(name: string, accepting: boolean): void {
    const number = this.added++;
    this.databases.push(database({ name, number, founders: [], accepting, changed: false, closed: false }));
  }

  /** A process that knows nothing of the databases that it cannot reach. */
  restart(): void {
    this.shards = this.databases.map(({ row }) => new Shard(row.name)) as [Shard, ...Shard[]];
    this.engine = new ShardedEngine(this.shards, async () => this.shards);
    this.poll();
  }

  poll(): void {
    for (const [n, { row, engine, reachable }] of this.databases.entries()) {
      const shard = this.shards[n]!;
      if (!reachable) shard.health.lost(new Error('refused'));
      else if (shard.row) shard.read(row);
      else shard.open(row, engine);
    }
  }

  async with(correlationId: string): Promise<Database[]> {
    const found: Database[] = [];
    for (const one of this.databases)
      if (await one.store.load({ name: 'order', correlationId })) found.push(one);
    return found;
  }
}

const start = (correlationId?: string): StartedSaga => ({
  ...{ id: newId(), fresh: true, name: 'order', version: 1, input: '1', priority: 0, step: 'reserve' },
  ...(correlationId !== undefined && { correlationId }),
});

const stored = async ({ store }: Database) => (await store.find({ limit: 10_000 })).map(({ id }) => id);

/** One random event, and what must hold in it. */
async function step(world: World, random: (below: number) => number): Promise<void> {
  const one = world.databases[random(world.databases.length)]!;
  const event = random(12);
  if (event === 0) one.row = { ...one.row, accepting: !one.row.accepting, changed: true };
  else if (event === 1) one.reachable = !one.reachable;
  else if (event === 2) {
    // Databases are registered by a process that reaches all.
    if (world.databases.length >= 5 || world.databases.some(({ reachable }) => !reachable)) return;
    world.add(`shard-${random(1_000_000)}`, false);
    world.restart();
  } else if (event === 3) world.restart();
  world.poll();
  if (event < 4) return;
  const correlationId = event < 9 ? KEYS[random(KEYS.length)] : undefined;
  await (correlationId === undefined ? startAny(world) : startKeyed(world, correlationId));
}

async function startAny(world: World): Promise<void> {
  const open = world.databases.filter(({ row, reachable }) => row.accepting && reachable);
  const saga = start();
  if (open.length === 0) {
    await expect(world.engine.submit(saga)).rejects.toThrow(/no shard accepts|cannot be reached/);
    return;
  }
  const before = await Promise.all(world.databases.map(stored));
  expect((await world.engine.submit(saga)).created).toBe(true);
  const after = await Promise.all(world.databases.map(stored));
  const at = after.findIndex((ids, n) => ids.length > before[n]!.length);
  expect(open).toContain(world.databases[at]);
  const id = after[at]!.find((one) => !before[at]!.includes(one))!;
  expect((await world.engine.load({ id }))?.id).toBe(id);
}

async function startKeyed(world: World, correlationId: string): Promise<void> {
  const target = { name: 'order', correlationId };
  const [before] = await world.with(correlationId);
  try {
    const result = await world.engine.submit(start(correlationId));
    expect(result.created).toBe(before === undefined);
    const found = await world.with(correlationId);
    expect(found).toHaveLength(1);
    expect(before ?? found[0]).toBe(found[0]);
    if (!before) expect(found[0]!.row.accepting).toBe(true);
  } catch (error) {
    if (!isExpected(error)) throw error;
    // Never, if nothing is lost and something accepts.
    if (world.databases.every(({ reachable }) => reachable))
      expect(world.databases.some(({ row }) => row.accepting)).toBe(false);
  }
  const found = await world.with(correlationId);
  expect(found.length).toBeLessThanOrEqual(1);
  // It is found if its database can be reached, and is never taken for one that does not exist.
  for (const has of found) {
    const { id } = (await has.store.load(target))!;
    for (const one of [target, { id }])
      if (has.reachable) expect((await world.engine.load(one))?.correlationId).toBe(correlationId);
      else await expect(world.engine.load(one)).rejects.toThrow(SagaShardUnavailableError);
  }
}

function isExpected(error: unknown): boolean {
  return error instanceof SagaShardUnavailableError || error instanceof SagaStateError;
}

test('a correlation id is unique, and found, whatever is drained, admitted, added and lost', async () => {
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const random = randomOf(seed);
    const world = new World(['eu', 'us', 'asia'].slice(0, 1 + random(3)));
    try {
      for (let n = 0; n < STEPS; n += 1) await step(world, random);
    } catch (error) {
      (error as Error).message += `\n(seed ${seed})`;
      throw error;
    }
  }
});
