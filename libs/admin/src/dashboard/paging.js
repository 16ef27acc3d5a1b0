import { h } from './dom.js';

/** The length of a page of a list. */
export const PAGE = 50;

/**
 * The buttons between the pages of a list. Undefined: there is one page.
 * @param {string[]} cursors of all pages after the first, up to the one that is shown
 * @param {string | undefined} next the cursor of the page after it
 * @param {() => void} look loads the page of the last cursor
 * @param {[string, string]} labels of the buttons
 */
export function pager(cursors, next, look, [back, on]) {
  if (cursors.length === 0 && !next) return undefined;
  const goOn = () => {
    if (next) cursors.push(next);
    look();
  };
  return h(
    'nav.pager',
    { 'aria-label': 'Pages of the list' },
    h(
      'button',
      {
        type: 'button',
        'data-key': 'newer',
        disabled: cursors.length === 0,
        onclick: () => (cursors.pop(), look()),
      },
      `← ${back}`,
    ),
    h('span', `Page ${cursors.length + 1}`),
    h('button', { type: 'button', 'data-key': 'older', disabled: !next, onclick: goOn }, `${on} →`),
  );
}

/** Says what is missing in a list. Nothing: all shards could be reached. */
export function unreachableNote(shards, what) {
  if (!shards) return undefined;
  const [subject, whose] = shards.length === 1 ? ['Shard', 'Its'] : ['Shards', 'Their'];
  const text = `${subject} ${shards.join(', ')} cannot be reached. ${whose} ${what} are missing here.`;
  return h('p', { role: 'status' }, text);
}
