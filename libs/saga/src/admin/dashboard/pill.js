import { h } from './dom.js';
import { words } from './format.js';

/** Shows a status as a colored label. */
export function pill(status, note) {
  return h('span.pill', { 'data-status': status }, words(status), note && h('small', note));
}
