import { actionButton } from './action-button.js';
import { actionDialog } from './action-dialog.js';
import { ACTIONS } from './actions.js';
import { get } from './api.js';
import { h, swap } from './dom.js';
import { figuresTable } from './figures-table.js';
import { sagaName } from './format.js';
import { live } from './live.js';
import { later, pager, unreachableText } from './paging.js';
import { problem } from './problem.js';
import { tagList } from './tag-list.js';
import { since } from './time.js';

const PAGE = 50;
const FILTERS = ['saga', 'step', 'tag'];

/** Shows the steps that wait for approval, oldest first, and lets an operator approve or reject them. */
export function tasksPage(root, { query, context, signal }) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? '']));
  /** @type {string[]} the cursors of all pages after the first */
  const cursors = [];
  const list = h('section.list', { 'aria-label': 'Tasks' });
  const ask = () => get('tasks', { ...toQuery(filter), cursor: cursors.at(-1), limit: PAGE }, signal);
  const act = (task, kind) =>
    actionDialog(sagaOf(task), { kind, steps: [task.step] }, context, () => void look());
  const show = (page, error) => {
    if (error) return swap(list, problem(error));
    swap(
      list,
      page.unreachable && h('p', { role: 'status' }, unreachableText(page.unreachable, 'steps')),
      page.items.length > 0 ? table(page.items, act) : h('p.empty', emptyText(filter)),
      pager(cursors, page.next, () => void look(), ['Older', 'Newer']),
    );
  };
  const look = live(signal, ask, show);
  const change = (name, value) => {
    filter[name] = value;
    cursors.length = 0;
    const used = Object.entries(filter).filter(([, set]) => set !== '');
    history.replaceState(null, '', `#/tasks${used.length > 0 ? `?${new URLSearchParams(used)}` : ''}`);
    void look();
  };
  root.append(h('h1', 'Tasks'), bar(filter, context, change), list);
}

/** @param {Record<string, any>} filter */
function toQuery({ saga, step, tag }) {
  return { saga, step, tag: tag.includes(':') ? tag.split(/[ ,]+/) : [] };
}

function bar(filter, context, change) {
  const input = (name, label, placeholder) =>
    h(
      'label',
      h('span', label),
      h('input', {
        name,
        placeholder,
        value: filter[name],
        autocomplete: 'off',
        spellcheck: 'false',
        oninput: later(({ target }) => change(name, target.value.trim())),
      }),
    );
  const sagas = [['', 'all'], ...context.sagas.map((name) => [name, sagaName(name)])];
  return h(
    'form.filters',
    { role: 'search', onsubmit: (event) => event.preventDefault() },
    h(
      'label',
      h('span', 'Saga'),
      h(
        'select',
        { name: 'saga', onchange: ({ target }) => change('saga', target.value) },
        sagas.map(([value, text]) => h('option', { value, selected: filter.saga === value }, text)),
      ),
    ),
    input('step', 'Step', 'name'),
    input('tag', 'Tag', 'key:value'),
  );
}

/** What the dialog of an action has to know of a saga. */
function sagaOf({ id, correlationId }) {
  return /** @type {import('../dashboard-data.js').ShownSaga} */ ({ id, correlationId });
}

function table(tasks, act) {
  return figuresTable(
    ['Saga', 'Step', 'Correlation id', 'Waits since', 'Until', 'Approvals', ''],
    tasks.map((task) => row(task, act)),
    'entries',
  );
}

/** @param {import('../dashboard-data.js').ShownTask} task */
function row(task, act) {
  const { id, saga, version, step, correlationId, tags, until, actions } = task;
  return h(
    'tr',
    { 'data-task': `${id} ${step}` },
    h('td', sagaName(saga), version > 1 && h('small', ` v${version}`)),
    h('td', step),
    h(
      'td',
      h(
        'a.row.mono',
        { href: `#/saga/${encodeURIComponent(id)}`, 'data-key': `${id} ${step}` },
        correlationId,
      ),
      tagList(tags),
    ),
    h('td', since(task.since)),
    h('td', since(until)),
    h('td', approvalsText(task)),
    h(
      'td.buttons',
      actions.map((kind) =>
        actionButton(kind, ACTIONS[kind].label, `${step} of ${correlationId}`, () => act(task, kind)),
      ),
    ),
  );
}

function approvalsText({ quorum, approvals }) {
  if (quorum === 1) return '–';
  const who = approvals.map(({ by }) => by).join(', ');
  return [`${approvals.length} of ${quorum}`, who && h('small', ` ${who}`)];
}

function emptyText(filter) {
  return Object.values(filter).some((value) => value !== '')
    ? 'No step that waits for approval matches these filters.'
    : 'No step waits for approval.';
}
