import type { EntityManager } from 'typeorm';
import { SagaShardUnavailableError, SagaStateError } from '../errors.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import { SagaEngine } from '../engine/saga-engine.js';
import { newId } from '../shared/new-id.js';
import { MemorySagaStore } from '../store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../store/memory/memory-wakeup.js';
import { SagaMovedAway } from '../engine/ports/shard-moves.js';
import { MemoryMoves } from '../../../../test/support/memory-moves.js';
import type { EngineCalls } from './engine-calls.js';
import { candidates, keyOf } from './find-shard.js';
import { ranked } from './rendezvous.js';
import { moveSagas, type MoveRequest } from './move-sagas.js';
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
  readonly engine: SagaEngine;
  readonly calls: EngineCalls;
  readonly store: MemorySagaStore;
  readonly moves: MemoryMoves;
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
  const made: Database = {
    ...{ row, store, engine, reachable: true },
    moves: new MemoryMoves(
      store,
      {
        get accepting() {
          return made.row.accepting;
        },
      },
      () => (made.row = { ...made.row, received: true }),
    ),
    calls: Object.create(engine, {
      submit: {
        value: async (saga: StartedSaga) => {
          if (made.moves.refuses(saga)) throw new SagaMovedAway('moved');
          return engine.submit(saga);
        },
      },
    }) as EngineCalls,
  };
  return made;
}

/** The databases of an application, and a process that knows of each what it last read. */
class World {
  readonly databases: Database[] = [];
  shards!: [Shard, ...Shard[]];
  engine!: ShardedEngine;
  removed = 0;
  private added = 0;
  oldShards!: [Shard, ...Shard[]];
  oldEngine!: ShardedEngine;

  constructor(names: readonly string[]) {
    for (const name of names) this.add(name, true);
    this.restart();
  }

  add(name: string, accepting: boolean): void {
    const number = this.added++;
    this.databases.push(database({ name, number, founders: [], accepting, changed: false, received: false }));
  }

  /** A process that knows nothing of the databases that it cannot reach, and one that reads them long after the other. */
  restart(): void {
    [this.shards, this.engine] = this.process();
    [this.oldShards, this.oldEngine] = this.process();
    this.poll();
    this.poll(this.oldShards);
  }

  private process(): [[Shard, ...Shard[]], ShardedEngine] {
    // A call for a saga that is on its way does not wait.
    const shards = this.databases.map(({ row }) => new Shard(row.name, 0)) as [Shard, ...Shard[]];
    for (const shard of shards) shard.refresh = async () => this.poll(shards);
    return [shards, new ShardedEngine(shards, async () => shards[0])];
  }

  poll(shards = this.shards): void {
    for (const [n, { row, calls, moves, reachable }] of this.databases.entries()) {
      const shard = shards[n]!;
      if (!reachable) shard.health.lost(new Error('refused'));
      else if (shard.row) shard.read(row);
      else shard.opened(row, calls, moves);
    }
  }

  /** Moves sagas, and ends in the middle of it. @param calls after which the move is cut off, before or after the last */
  async move(from: Database, to: Database | undefined, limit: number, calls: number): Promise<void> {
    let left = calls;
    const cut = (moves: MemoryMoves): MemoryMoves =>
      new Proxy(moves, {
        get:
          (target, name: keyof MemoryMoves) =>
          async (...given: never[]) => {
            left -= 1;
            if (left < 0) throw new Error('cut off');
            const answer: unknown = await (target[name] as (...all: never[]) => Promise<unknown>)(...given);
            if (left === 0) throw new Error('cut off');
            return answer;
          },
      });
    const moving = this.databases.map(({ row: { name, accepting }, moves, reachable }) => ({
      ...{ name, accepting },
      ...(reachable && { moves: cut(moves) }),
    }));
    const [source, target] = [from, to].map((one) => moving[this.databases.indexOf(one!)]);
    const request = {
      from: source as MoveRequest['from'],
      shards: moving,
      to: target,
      limit,
      knowsAll: true,
    };
    await moveSagas(request).catch((error: Error) => {
      if (!/cut off|is on its way|accepts new sagas/.test(error.message)) throw error;
    });
  }

  async removeEmpty(one: Database): Promise<void> {
    const isEmpty = (await stored(one)).length === 0 && (await one.moves.onTheirWay()).count === 0;
    const sent = await Promise.all(this.databases.map(({ moves }) => moves.sealed(1_000)));
    if (one.row.accepting || !isEmpty || sent.flat().some(({ to }) => to === one.row.name)) return;
    this.databases.splice(this.databases.indexOf(one), 1);
    this.removed += 1;
    this.restart();
  }

  /** Whether a saga of this correlation id is on its way, or waits there for its move to continue. */
  async isOnItsWay(correlationId: string): Promise<boolean> {
    const notes = this.databases.map(({ moves }) => moves.noteOf({ name: 'order', correlationId }));
    return (await Promise.all(notes)).some((note) => note?.state === 'sealed');
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
  const event = random(16);
  if (event === 0) one.row = { ...one.row, accepting: !one.row.accepting, changed: true };
  else if (event === 1) one.reachable = !one.reachable;
  else if (event === 2) {
    // Databases are registered by a process that reaches all.
    if (world.databases.length >= 5 || world.databases.some(({ reachable }) => !reachable)) return;
    world.add(`shard-${random(1_000_000)}`, false);
    world.restart();
  } else if (event === 3) world.restart();
  world.poll();
  if (random(8) === 0) world.poll(world.oldShards);
  if (event < 4) return;
  if (event >= 12) return moveSome(world, one, random);
  const correlationId = event < 9 ? KEYS[random(KEYS.length)] : undefined;
  await (correlationId === undefined ? startAny(world) : startKeyed(world, correlationId));
}

async function moveSome(world: World, from: Database, random: (below: number) => number): Promise<void> {
  if (!from.reachable) return;
  const to = random(3) === 0 ? world.databases[random(world.databases.length)]! : undefined;
  await world.move(from, to === from ? undefined : to, 1 + random(6), 1 + random(40));
  // One that is empty is taken away, once all processes have its moves behind them.
  if (random(3) === 0 && world.databases.length > 2) await world.removeEmpty(from);
  for (const correlationId of KEYS) await findEverywhere(world, correlationId);
}

/** What exists is found by its correlation id and its id, in a process that has not seen the changes as well, or is on its way. */
async function findEverywhere(world: World, correlationId: string): Promise<void> {
  const has = await world.with(correlationId);
  expect(has.length).toBeLessThanOrEqual(1);
  const target = { name: 'order', correlationId };
  const saga = await has[0]?.store.load(target);
  for (const engine of [world.engine, world.oldEngine])
    for (const one of [target, ...(saga ? [{ id: saga.id }] : [])])
      try {
        expect((await engine.load(one))?.id).toBe(saga?.id);
        expect(saga !== undefined || !(await world.isOnItsWay(correlationId))).toBe(true);
      } catch (error) {
        if (!(error instanceof SagaShardUnavailableError)) throw error;
        // One that can be reached is found, in spite of all others.
        if (saga) expect(has[0]!.reachable && engine === world.engine).toBe(false);
        else if (world.databases.every(({ reachable }) => reachable))
          expect(engine === world.oldEngine || (await world.isOnItsWay(correlationId))).toBe(true);
      }
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
  const onItsWay = !before && (await world.isOnItsWay(correlationId));
  // A process that has not seen a move never starts again what has moved.
  if ((before || onItsWay) && seesAllButMoves(world, correlationId)) {
    await world.oldEngine.submit(start(correlationId)).catch((error: unknown) => {
      if (!isExpected(error)) throw error;
    });
    const names = (await world.with(correlationId)).map(({ row }) => row.name);
    expect(names).toEqual(before ? [before.row.name] : []);
  }
  try {
    const result = await world.engine.submit(start(correlationId));
    expect(onItsWay).toBe(false);
    expect(result.created).toBe(before === undefined);
    const found = await world.with(correlationId);
    expect(found).toHaveLength(1);
    expect(before ?? found[0]).toBe(found[0]);
    if (!before) expect(found[0]!.row.accepting).toBe(true);
  } catch (error) {
    if (!isExpected(error)) throw error;
    // Never, if nothing is lost and something accepts.
    if (!onItsWay && world.databases.every(({ reachable }) => reachable))
      expect(world.databases.some(({ row }) => row.accepting)).toBe(false);
  }
  // It is found if its database can be reached, and is never taken for one that does not exist.
  const [has] = await world.with(correlationId);
  if (onItsWay) await expect(world.engine.load(target)).rejects.toThrow(SagaShardUnavailableError);
  else if (has?.reachable) expect((await world.engine.load(target))?.correlationId).toBe(correlationId);
  else if (has) await expect(world.engine.load(target)).rejects.toThrow(SagaShardUnavailableError);
}

/** Whether the other process has seen all drains and admissions, or the shard on which it starts knows of the move. */
function seesAllButMoves(world: World, correlationId: string): boolean {
  const [home] = candidates({ name: 'order', correlationId }, world.oldShards);
  if (world.databases[world.oldShards.indexOf(home)]!.moves.refuses(start(correlationId))) return true;
  return world.databases.every(({ row }, n) => {
    const known = world.oldShards[n]!.row;
    return known?.accepting === row.accepting && known.changed === row.changed;
  });
}

function isExpected(error: unknown): boolean {
  return error instanceof SagaShardUnavailableError || error instanceof SagaStateError;
}

test('a correlation id is unique, and found, whatever is drained, admitted, added, lost, emptied and removed', async () => {
  let removed = 0;
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const random = randomOf(seed);
    const world = new World(['eu', 'us', 'asia'].slice(0, 1 + random(3)));
    try {
      for (let n = 0; n < STEPS; n += 1) await step(world, random);
    } catch (error) {
      (error as Error).message += `\n(seed ${seed})`;
      throw error;
    }
    removed += world.removed;
  }
  // Otherwise no shard was emptied.
  expect(removed).toBeGreaterThan(HISTORIES / 10);
});

test('a saga that was moved away from the home of its key is found when its old shard is removed', async () => {
  for (const correlationId of KEYS) {
    const world = new World(['eu', 'us', 'asia']);
    const inOrder = ranked(world.shards, keyOf({ name: 'order', correlationId }));
    const [first, , last] = inOrder.map(({ name }) => world.databases.find(({ row }) => row.name === name)!);
    await world.engine.submit(start(correlationId));
    expect(await world.with(correlationId)).toEqual([first]);
    first!.row = { ...first!.row, accepting: false, changed: true };
    await world.move(first!, last, 10, 1_000);
    expect(world.databases.map(({ row }) => row.received)).toEqual(
      world.databases.map((one) => one === last),
    );
    await world.removeEmpty(first!);
    expect(world.databases).toHaveLength(2);
    await startKeyed(world, correlationId);
    expect((await world.with(correlationId)).map(({ row }) => row.name)).toEqual([last!.row.name]);
  }
});
