import type { ShardMoves } from '../engine/ports/shard-moves.js';
import type { EngineCalls } from './engine-calls.js';
import { Shard } from './shard.js';

const ROW = { number: 1, accepting: true } as Parameters<Shard['opened']>[0];
const ENGINE = {} as EngineCalls;

/** Moves of which each call fails once, as on a broken connection. */
function failingOnce(): ShardMoves {
  const failed = new Set<string>();
  const answer = async <T>(call: string, result: T): Promise<T> => {
    if (failed.has(call)) return result;
    failed.add(call);
    throw new Error('Connection terminated unexpectedly');
  };
  return {
    onTheirWay: () => answer('onTheirWay', { count: 2, oldest: 50 }),
    noteOf: () => answer('noteOf', { saga: 's', move: 'm', to: 'us', state: 'handed' }),
  } as Partial<ShardMoves> as ShardMoves;
}

test('what a shard reads of its moves is repeated as calls of its engine are', async () => {
  const shard = new Shard('eu');
  shard.opened(ROW, ENGINE, failingOnce(), (call) => call().catch(call));
  expect(await shard.onTheirWay()).toEqual({ count: 2, oldest: 50 });
  expect(await shard.noteOf({ id: 's' })).toMatchObject({ to: 'us', state: 'handed' });
});

test('a shard that is lost answers at once, and repeats nothing', async () => {
  const shard = new Shard('eu');
  let repeated = 0;
  shard.opened(ROW, ENGINE, failingOnce(), (call) => {
    repeated += 1;
    return call();
  });
  shard.health.lost(new Error('ECONNREFUSED'));
  await expect(shard.onTheirWay()).rejects.toThrow("Shard 'eu' cannot be reached: ECONNREFUSED");
  await expect(shard.noteOf({ id: 's' })).rejects.toThrow("Shard 'eu' cannot be reached: ECONNREFUSED");
  expect(repeated).toBe(0);
});

test('of a shard that no saga ever leaves, none is on its way', async () => {
  const shard = new Shard('eu');
  shard.opened(ROW, ENGINE);
  expect(await shard.onTheirWay()).toEqual({ count: 0, oldest: 0 });
  expect(await shard.noteOf({ id: 's' })).toBeUndefined();
});
