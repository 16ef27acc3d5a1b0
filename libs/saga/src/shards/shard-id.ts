/** Hexadecimal digits of an id that carry the number of its shard: the last ones, which are random otherwise. */
const DIGITS = 4;

/** Numbers of shards are below this one. */
export const SHARD_NUMBERS = 16 ** DIGITS;

/**
 * Returns the id with the number of a shard in its last four digits. A UUIDv7 stays one, and its order: its time and its
 * sequence come first.
 */
export function idOnShard(id: string, number: number): string {
  return id.slice(0, -DIGITS) + number.toString(16).padStart(DIGITS, '0');
}

/** Returns the number of the shard that an id carries. An id that the application has chosen carries an arbitrary one. */
export function shardNumberOf(id: string): number {
  return Number.parseInt(id.slice(-DIGITS), 16);
}
