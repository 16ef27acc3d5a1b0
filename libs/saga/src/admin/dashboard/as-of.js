import { h } from './dom.js';
import { at } from './time.js';

/** Says which commits a list or figures show that were read from a standby. Nothing: they are from the primary. */
export function asOf(time) {
  return time && h('p.as-of', 'Read from the standby, as of ', at(time));
}
