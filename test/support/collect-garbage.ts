import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
setFlagsFromString('--allow-natives-syntax');

/** @throws if V8 has no such function: it is one of those that V8 has for its own tests */
const awaitOptimization = runInNewContext('() => { %FinalizeOptimization(); }') as () => void;
const collect = runInNewContext('gc') as () => void;

/**
 * A full collection: what nothing refers to is gone. First it waits for V8's other threads: while one of them optimizes a
 * function, it holds the function and all that this can reach.
 */
export function collectGarbage(): void {
  awaitOptimization();
  collect();
}
