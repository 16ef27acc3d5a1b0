// What this process holds: memory after a collection.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const MB = 2 ** 20;

/** In MB, after three full collections: the JavaScript heap, external memory with its buffers, and the resident set. */
export function liveMemory() {
  for (let k = 0; k < 3; k += 1) collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { heap_mb: heapUsed / MB, rss_mb: rss / MB, external_mb: external / MB };
}
