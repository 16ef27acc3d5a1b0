import { h } from './dom.js';

/**
 * A table that scrolls by itself if it is wide.
 * @param {string[]} heads an empty one is that of a column without a name
 * @param rows elements of `tr`
 */
export function figuresTable(heads, rows) {
  return h(
    'div',
    { class: 'scroll', tabindex: 0 },
    h(
      'table',
      { class: 'figures' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((head) => h(head ? 'th' : 'td', head ? { scope: 'col' } : {}, head)),
        ),
      ),
      h('tbody', {}, rows),
    ),
  );
}
