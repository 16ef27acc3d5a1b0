import { newId } from '../shared/new-id.js';
import { freeNumber, ranked } from './rendezvous.js';
import { idOnShard, SHARD_NUMBERS, shardNumberOf } from './shard-id.js';

const shards = (...names: string[]) => names.map((name) => ({ name }));
const KEYS = Array.from({ length: 3_000 }, (_, n) => `correlation order ${n}`);
const homes = (...names: string[]) => KEYS.map((key) => ranked(shards(...names), key)[0]!.name);

describe('the order of shards for a key', () => {
  test('gives each shard its share of the keys, whatever the order of the configuration', () => {
    const found = homes('eu', 'us', 'asia');
    for (const name of ['eu', 'us', 'asia']) {
      const share = found.filter((home) => home === name).length / KEYS.length;
      expect(Math.abs(share - 1 / 3)).toBeLessThan(0.05);
    }
    expect(homes('asia', 'us', 'eu')).toEqual(found);
  });

  test('changes only for keys whose home a new shard becomes', () => {
    const [before, after] = [homes('eu', 'us'), homes('eu', 'us', 'asia')];
    for (const [n, home] of after.entries()) expect([before[n], 'asia']).toContain(home);
  });

  test('is the same in all versions: sagas are looked for by it', () => {
    expect(ranked(shards('eu', 'us', 'asia'), 'correlation order 17').map(({ name }) => name)).toEqual([
      'us',
      'eu',
      'asia',
    ]);
    expect(freeNumber('eu', new Set(), SHARD_NUMBERS)).toBe(30_590);
  });
});

test('a number is that of the name, or the next that is free', () => {
  const number = freeNumber('eu', new Set(), 16);
  expect(freeNumber('eu', new Set([number]), 16)).toBe((number + 1) % 16);
  const all = new Set(Array.from({ length: 16 }, (_, n) => n));
  all.delete((number + 15) % 16);
  expect(freeNumber('eu', all, 16)).toBe((number + 15) % 16);
});

test('ids with the number of a shard stay UUIDv7 in the order of their starts', () => {
  const ids = Array.from({ length: 5_000 }, () => newId());
  for (const number of [0, 7, SHARD_NUMBERS - 1]) {
    const carrying = ids.map((id) => idOnShard(id, number));
    expect(carrying.map(shardNumberOf)).toEqual(ids.map(() => number));
    expect([...carrying].sort()).toEqual(carrying);
    expect(new Set(carrying).size).toBe(ids.length);
    for (const id of carrying)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});
