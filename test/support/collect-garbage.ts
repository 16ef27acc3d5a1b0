import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** A full collection: what nothing refers to is gone. */
export const collectGarbage = runInNewContext('gc') as () => void;
