import type { StoredShard } from '../../engine/ports/stored-shard.js';
import { freeNumber } from '../../shards/rendezvous.js';
import { SHARD_NUMBERS } from '../../shards/shard-id.js';
import { checkShards, type NamedRow, registerShards } from './register-shards.js';

/** The row of a database, kept in memory. */
function database(name: string, given: { row?: StoredShard; used?: boolean } = {}) {
  let row = given.row;
  return {
    name,
    place: name,
    get row() {
      return row;
    },
    rows: {
      read: async () => row,
      hasSagas: async () => given.used ?? false,
      register: async (one: Omit<StoredShard, 'changed' | 'closed'>) =>
        void (row ??= { ...one, changed: false, closed: false }),
    } as unknown as NamedRow['rows'],
  };
}

const register = async (...shards: ReturnType<typeof database>[]) => {
  await registerShards(shards);
  checkShards(shards);
  return shards.map(({ row }) => row!);
};

test('the first shards accept sagas, with the numbers of their names in any order', async () => {
  const one = await register(database('eu'), database('us'));
  const other = await register(database('us'), database('eu'));
  expect(other.reverse().map(({ founders: _, ...row }) => row)).toEqual(
    one.map(({ founders: _, ...row }) => row),
  );
  expect(one.map(({ accepting }) => accepting)).toEqual([true, true]);
});

test('two processes with the same shards may register them side by side', async () => {
  const shards = [database('eu'), database('us')];
  await Promise.all([registerShards(shards), registerShards([...shards].reverse())]);
  checkShards(shards);
  expect(shards.map(({ row }) => row!.accepting)).toEqual([true, true]);
});

test('a shard whose number another one has gets the next, and does not accept sagas yet', async () => {
  const number = freeNumber('asia', new Set(), SHARD_NUMBERS);
  const row = { name: 'eu', number, founders: ['eu'], accepting: true, changed: false, closed: false };
  const [, asia, us] = await register(database('eu', { row }), database('asia'), database('us'));
  expect(asia).toMatchObject({ number: number + 1, accepting: false });
  expect(us).toMatchObject({ accepting: false });
});

test('of databases of which some have sagas, those are the first', async () => {
  const rows = await register(database('eu'), database('us', { used: true }));
  expect(rows.map(({ accepting }) => accepting)).toEqual([false, true]);
});

test('a database of another name, and a number of two shards, are refused', () => {
  const row = { name: 'eu', number: 1, founders: ['eu'], accepting: true, changed: false, closed: false };
  expect(() => checkShards([database('us', { row })])).toThrow(
    "the database of shards.us is the shard 'eu': its ids and its sagas belong to that name",
  );
  const us = database('us', { row: { ...row, name: 'us' } });
  expect(() => checkShards([database('eu', { row }), us])).toThrow(
    "the shards 'eu' and 'us' have the same number (1)",
  );
});
