import { h } from './dom.js';

/**
 * @param {string} look its classes, with dots between them
 * @param {string[]} heads an empty one is that of a column without a name
 * @param {Node[]} rows
 */
export function table(look, heads, rows) {
  const headOf = (head) => (head ? h('th', { scope: 'col' }, head) : h('td'));
  return h(`table.${look}`, h('thead', h('tr', ...heads.map(headOf))), h('tbody', ...rows));
}

/**
 * A table that scrolls by itself if it is wide.
 * @param {'figures' | 'figures.entries' | 'figures.steps'} look `figures`: the columns after the first are numbers. `entries`:
 * each row is a thing to act on, and a card on a phone
 * @param {string[]} heads
 * @param {Node[]} rows
 */
export function wideTable(look, heads, rows) {
  return h('div.scroll', { tabindex: 0 }, table(look, heads, rows));
}
