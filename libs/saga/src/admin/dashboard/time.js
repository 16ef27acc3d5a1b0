import { h } from './dom.js';
import { ago, clock, exact } from './format.js';

/** How long ago, with the exact time for whoever points at it. */
export function since(time) {
  return time ? h('time', { datetime: exact(time), title: exact(time) }, ago(time)) : '–';
}

/** At what time of day. */
export function at(time) {
  return h('time', { datetime: exact(time), title: `${exact(time)}, ${ago(time)}` }, clock(time));
}
