import { h } from './dom.js';

/**
 * A table that scrolls by itself if it is wide.
 * @param {string[]} heads an empty one is that of a column without a name
 * @param rows elements of `tr`
 * @param {'figures' | 'entries'} look `figures`: the columns after the first are numbers. `entries`: each row is a thing to
 * act on, and a card on a phone
 */
export function figuresTable(heads, rows, look = 'figures') {
  return h(
    'div.scroll',
    { tabindex: 0 },
    h(
      'table',
      { class: look === 'figures' ? look : `figures ${look}` },
      h(
        'thead',
        h(
          'tr',
          heads.map((head) => h(head ? 'th' : 'td', head ? { scope: 'col' } : {}, head)),
        ),
      ),
      h('tbody', rows),
    ),
  );
}
