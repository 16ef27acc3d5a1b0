import { byId, h } from './dom.js';

const KEYS = [
  ['/', 'find a saga'],
  ['j k', 'next and previous in a list'],
  ['Enter', 'open'],
  ['Esc', 'back, or close'],
  ['g s, g o, g t, g d', 'sagas, overview, tasks, definitions'],
  ['?', 'show these keys'],
];
const PAGES = { s: '#/', o: '#/overview', t: '#/tasks', d: '#/definitions' };

/** Adds the keyboard shortcuts. @param go opens a page */
export function listenToKeys(go) {
  let before = '';
  document.addEventListener('keydown', (event) => {
    const { key } = event;
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (key === 'Escape') return escape(target, go);
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
    const [last, act] = [before, { '/': find, j: () => move(1), k: () => move(-1), '?': help }[key]];
    before = key;
    if (last === 'g' && PAGES[key]) go(PAGES[key]);
    else if (act) {
      event.preventDefault();
      act(go);
    }
  });
}

function find(go) {
  const search = byId('search');
  if (search) return search.select();
  go('#/');
  window.addEventListener('hashchange', () => byId('search')?.select(), { once: true });
}

function move(by) {
  /** @type {NodeListOf<HTMLElement>} */
  const links = document.querySelectorAll('main a.row');
  const rows = [...links];
  const at = rows.findIndex((row) => row === document.activeElement);
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
}

function escape(target, go) {
  if (target.tagName === 'INPUT' || target.tagName === 'SELECT') target.blur();
  else if (location.hash.startsWith('#/saga/')) go('#/');
}

function help() {
  const dialog = h(
    'dialog',
    { 'aria-labelledby': 'keys', onclose: ({ target }) => target.remove() },
    h(
      'form',
      { method: 'dialog' },
      h('h2', { id: 'keys' }, 'Keyboard shortcuts'),
      h(
        'dl.keys',
        ...KEYS.map(([keys, what]) =>
          h('div', h('dt', ...keys.split(' ').map((key) => h('kbd', key.replace(',', '')))), h('dd', what)),
        ),
      ),
      h('div.buttons', h('button', 'Close')),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
