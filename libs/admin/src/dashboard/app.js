import { get } from './api.js';
import { byId, h } from './dom.js';
import { definitionsPage } from './definitions-page.js';
import { listenToKeys } from './keyboard.js';
import { overviewPage } from './overview-page.js';
import { problem } from './problem.js';
import { sagaPage } from './saga-page.js';
import { schedulesPage } from './schedules-page.js';
import { sagasPage } from './sagas-page.js';
import { tasksPage } from './tasks-page.js';

/**
 * The pages by the address after the `#`. Groups of the expression are the parameters of the page.
 * @type {[RegExp, string, string, (root: any, page: any) => unknown][]}
 */
const PAGES = [
  [/^\/?$/, 'sagas', 'Sagas', sagasPage],
  [/^\/saga\/([^/]+)$/, 'sagas', 'Saga', sagaPage],
  [/^\/overview$/, 'overview', 'Overview', overviewPage],
  [/^\/tasks$/, 'tasks', 'Tasks', tasksPage],
  [/^\/schedules$/, 'schedules', 'Schedules', schedulesPage],
  [/^\/definitions(?:\/([^/]+))?$/, 'definitions', 'Definitions', definitionsPage],
];

const main = byId('main');
let context;
let current = new AbortController();

function go(hash) {
  if (location.hash === hash) show();
  else location.hash = hash;
}

/** Shows the page of the current address, and stops the previous page. */
function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const [path, search = ''] = location.hash.slice(1).split('?', 2);
  const [pattern, name, title, page] = PAGES.find(([one]) => one.test(path)) ?? PAGES[0];
  const params = (pattern.exec(path) ?? []).slice(1).map((part) => part && decodeURIComponent(part));
  document.title = [title, context.title].filter(Boolean).join(' · ');
  /** @type {NodeListOf<HTMLElement>} */
  const links = document.querySelectorAll('header nav a');
  for (const link of links)
    if (link.dataset.page === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  main.replaceChildren();
  // A page that refreshes itself sets this text.
  const sign = byId('live');
  sign.textContent = '';
  delete sign.dataset.state;
  void page(main, { params, query: new URLSearchParams(search), context, signal, go });
}

async function begin() {
  try {
    context = await get('context');
  } catch (error) {
    main.replaceChildren(
      problem(error),
      h('button', { type: 'button', onclick: () => location.reload() }, 'Try again'),
    );
    return;
  }
  const title = byId('title');
  title.textContent = context.title ?? '';
  title.hidden = !context.title;
  window.addEventListener('hashchange', show);
  listenToKeys(go);
  show();
}

void begin();
