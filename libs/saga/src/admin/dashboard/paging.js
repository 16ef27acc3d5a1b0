import { h } from './dom.js';

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

/** Delays a call until the user stops typing. */
export function later(act) {
  let timer;
  return (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(event), 250);
  };
}

/** Says what is missing in a list. */
export function unreachableText(shards, what) {
  const one = shards.length === 1;
  return `${one ? 'Shard' : 'Shards'} ${shards.join(', ')} cannot be reached. ${one ? 'Its' : 'Their'} ${what} are missing here.`;
}
