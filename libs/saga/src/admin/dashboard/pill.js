import { h } from './dom.js';
import { words } from './format.js';

/** A state, in its colour and in a word. */
export function pill(status, note) {
  return h('span', { class: 'pill', 'data-status': status }, words(status), note && h('small', {}, note));
}
