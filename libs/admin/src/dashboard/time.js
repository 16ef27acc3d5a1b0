import { h } from './dom.js';
import { ago, clock, exact } from './format.js';

/** Shows a relative time, with the exact time as the tooltip. */
export function since(time) {
  return time ? h('time', { datetime: exact(time), title: exact(time) }, ago(time)) : '–';
}

/** Shows the time of day. */
export function at(time) {
  return h('time', { datetime: exact(time), title: `${exact(time)}, ${ago(time)}` }, clock(time));
}

/** Says which commits a list or figures show that were read from a standby. Nothing: they are from the primary. */
export function asOf(time) {
  return time && h('p.as-of', 'Read from the standby, as of ', at(time));
}
