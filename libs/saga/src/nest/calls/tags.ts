import { isKey } from '../../engine/payload/storable-key.js';
import { entriesOf } from './call-options.js';

/** Tags as they are stored; undefined: they are none. */
export function readTags(given: unknown): Record<string, string> | undefined {
  const entries = entriesOf(given);
  if (!entries?.every((entry): entry is [string, string] => isKey(entry[0]) && isKey(entry[1])))
    return undefined;
  return Object.fromEntries(entries);
}
