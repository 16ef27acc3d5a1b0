import { createHash } from 'node:crypto';

/**
 * Returns shards in their order for a key, the home of the key first (rendezvous hashing). The order of two shards does
 * not depend on the others: a shard that is added moves only keys whose home it becomes.
 */
export function ranked<S extends { readonly name: string }>(shards: readonly S[], key: string): S[] {
  const scored = shards.map((shard) => ({ shard, score: scoreOf(shard.name, key) }));
  return scored
    .sort((one, other) => other.score - one.score || (one.shard.name < other.shard.name ? -1 : 1))
    .map(({ shard }) => shard);
}

/** 48 bits of a hash: the same in all processes and versions. */
function scoreOf(name: string, key: string): number {
  return createHash('sha1').update(`${name}\0${key}`).digest().readUIntBE(0, 6);
}

/**
 * Returns a number for the name of a shard that none of the others has.
 * @param numbers how many numbers there are
 */
export function freeNumber(name: string, taken: ReadonlySet<number>, numbers: number): number {
  let number = scoreOf(name, '') % numbers;
  while (taken.has(number)) number = (number + 1) % numbers;
  return number;
}
