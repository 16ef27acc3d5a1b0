import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const SIZE = 16;
/** A look at the system's source of randomness costs as much as a dozen ids. */
const AT_ONCE = 256;

const pool = new Uint8Array(SIZE * AT_ONCE);
let used = pool.length;
let msecs = 0;
let seq = 0;

/** A UUIDv7; each later in order than those before it in this process. */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, (used += SIZE));
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    // The highest bit is left for those of the same millisecond.
    seq = ((random[6]! & 0x7f) << 24) | (random[7]! << 16) | (random[8]! << 8) | random[9]!;
  } else {
    seq = (seq + 1) | 0;
    if (seq === 0) msecs += 1;
  }
  return v7({ random, msecs, seq });
}
