import { actionDialog } from './action-dialog.js';
import { ACTIONS } from './actions.js';
import { get } from './api.js';
import { actionButton } from './dialog.js';
import { h, swap } from './dom.js';
import { filterBar, filters, sagaOptions, tagsIn } from './filters.js';
import { sagaName } from './format.js';
import { live } from './live.js';
import { PAGE, pager, unreachableNote } from './paging.js';
import { problem } from './problem.js';
import { wideTable } from './table.js';
import { tagList } from './tag-list.js';
import { since } from './time.js';

const FILTERS = ['saga', 'step', 'tag'];

/** Shows the steps that wait for approval, oldest first, and lets an operator approve or reject them. */
export function tasksPage(root, { query, context, signal }) {
  const { values, text, select } = filters('tasks', FILTERS, query, () => {
    cursors.length = 0;
    void look();
  });
  /** @type {string[]} the cursors of all pages after the first */
  const cursors = [];
  const list = h('section.list', { 'aria-label': 'Tasks' });
  const ask = () => {
    const filter = { ...values, tag: tagsIn(values.tag) };
    return get('tasks', { ...filter, cursor: cursors.at(-1), limit: PAGE }, signal);
  };
  const act = (task, kind) =>
    actionDialog(sagaOf(task), { kind, steps: [task.step] }, context, () => void look());
  const show = (page, error) => {
    if (error) return swap(list, problem(error));
    swap(
      list,
      unreachableNote(page.unreachable, 'steps'),
      page.items.length > 0 ? table(page.items, act) : h('p.empty', emptyText(values)),
      pager(cursors, page.next, () => void look(), ['Older', 'Newer']),
    );
  };
  const look = live(signal, ask, show);
  const bar = filterBar({
    Saga: select('saga', sagaOptions(context)),
    Step: text('step', 'name'),
    Tag: text('tag', 'key:value'),
  });
  root.append(h('h1', 'Tasks'), bar, list);
}

/** What the dialog of an action has to know of a saga. */
function sagaOf({ id, correlationId }) {
  return /** @type {import('../dashboard-data.js').ShownSaga} */ ({ id, correlationId });
}

function table(tasks, act) {
  return wideTable(
    'figures.entries',
    ['Saga', 'Step', 'Correlation id', 'Waits since', 'Until', 'Approvals', ''],
    tasks.map((task) => row(task, act)),
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
      ...actions.map((kind) =>
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
