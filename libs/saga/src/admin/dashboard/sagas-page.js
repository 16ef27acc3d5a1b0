import { get } from './api.js';
import { asOf } from './as-of.js';
import { compensationName } from './compensation.js';
import { bulkDialog } from './bulk-dialog.js';
import { h, swap } from './dom.js';
import { plural, sagaName, words } from './format.js';
import { live } from './live.js';
import { later, pager, unreachableText } from './paging.js';
import { pill } from './pill.js';
import { problem } from './problem.js';
import { NEEDS_ATTENTION, STATUSES } from './statuses.js';
import { tagList } from './tag-list.js';
import { since } from './time.js';

const HOURS = { '': 'any time', 1: 'last hour', 24: 'last 24 hours', 168: 'last 7 days' };
const PAGE = 50;

/** All sagas: those that need attention first, then the newest. */
export function sagasPage(root, { query, context, signal, go }) {
  const filter = Object.fromEntries(
    ['search', 'saga', 'status', 'tag', 'hours'].map((name) => [name, query.get(name) ?? '']),
  );
  /** The cursors of all pages after the first. */
  const cursors = [];
  const many = h('p.many');
  const list = h('section.list', { 'aria-label': 'Sagas' });
  const urgent = h('section', { 'aria-label': 'Sagas that need attention' });

  const ask = async () => {
    const first = cursors.length === 0 && !filter.search;
    // Both at once: while the first is awaited, a failure of the second would be unhandled.
    const [page, stuck] = await Promise.all([
      get('sagas', { ...toQuery(filter), cursor: cursors.at(-1), limit: PAGE }, signal),
      first && !filter.status
        ? get('sagas', { ...toQuery(filter), status: 'needs-attention', limit: 20 }, signal)
        : undefined,
    ]);
    return { page, stuck };
  };
  const show = (loaded, error) => {
    if (error) return swap(list, problem(error));
    const { page, stuck } = loaded;
    swap(
      many,
      context.bulk &&
        h(
          'button',
          {
            type: 'button',
            'data-key': 'many',
            disabled: filter.search !== '',
            title: filter.search && 'A search finds one saga. Clear the search to use bulk actions.',
            onclick: () => bulkDialog(toBulkFilter(filter), context, look),
          },
          'Bulk action…',
        ),
    );
    const isUrgent = new Set(stuck?.items.map(({ id }) => id));
    swap(
      urgent,
      stuck?.items.length > 0 && [
        h(
          'h2',
          `${plural(stuck.items.length, 'saga')}${stuck.next ? ' and more' : ''} ${stuck.items.length === 1 ? 'needs' : 'need'} attention`,
        ),
        table(stuck.items),
      ],
    );
    urgent.className = stuck?.items.length > 0 ? 'urgent' : '';
    const rest = page.items.filter(({ id }) => !isUrgent.has(id));
    swap(
      list,
      page.unreachable && h('p', { role: 'status' }, unreachableText(page.unreachable, 'sagas')),
      rest.length > 0 ? table(rest) : empty(filter, page, isUrgent.size),
      asOf(page.asOf),
      pager(cursors, page.next, () => void look(), ['Newer', 'Older']),
    );
  };
  const look = live(signal, ask, show);

  const change = (name, value) => {
    filter[name] = value;
    cursors.length = 0;
    const used = Object.entries(filter).filter(([, set]) => set !== '');
    history.replaceState(null, '', `#/${used.length > 0 ? `?${new URLSearchParams(used)}` : ''}`);
    void look();
  };
  root.append(h('h1.visually-hidden', 'Sagas'), bar(filter, context, change, go), many, urgent, list);
}

/** Returns the filter of the list for `api/bulk`. */
function toBulkFilter(filter) {
  const { saga, status, tag = [], createdAfter } = toQuery(filter);
  const statuses = status === 'needs-attention' ? NEEDS_ATTENTION : [status];
  const tags = Object.fromEntries([tag].flat().map((one) => one.split(/:(.*)/s).slice(0, 2)));
  return {
    ...(saga && { saga }),
    ...(status && { status: statuses }),
    ...(Object.keys(tags).length > 0 && { tags }),
    ...(createdAfter && { createdAfter }),
  };
}

/** @param {Record<string, any>} filter */
function toQuery({ search, saga, status, tag, hours }) {
  return {
    ...(search ? { search } : { saga, status, tag: tag.includes(':') ? tag.split(/[ ,]+/) : [] }),
    ...(hours && !search && { createdAfter: new Date(Date.now() - hours * 3_600_000).toISOString() }),
  };
}

function bar(filter, context, change, go) {
  const select = (name, label, options) =>
    h(
      'label',
      h('span', label),
      h(
        'select',
        { name, onchange: ({ target }) => change(name, target.value) },
        options.map(([value, text]) => h('option', { value, selected: filter[name] === value }, text)),
      ),
    );
  return h(
    'form.filters',
    { role: 'search', onsubmit: (event) => event.preventDefault() },
    h(
      'label.search',
      h('span', 'Find'),
      h('input', {
        type: 'search',
        name: 'search',
        id: 'search',
        value: filter.search,
        placeholder: 'Correlation id or id',
        autocomplete: 'off',
        spellcheck: 'false',
        maxlength: 255,
        oninput: later(({ target }) => change('search', target.value.trim())),
        onkeydown: (event) => event.key === 'Enter' && onlyOne(go),
      }),
      h('kbd', { 'aria-hidden': 'true' }, '/'),
    ),
    select('saga', 'Saga', [['', 'all'], ...context.sagas.map((name) => [name, sagaName(name)])]),
    select('status', 'Status', [
      ['', 'all'],
      ['needs-attention', 'needs attention'],
      ...STATUSES.map((status) => [status, words(status)]),
    ]),
    select('hours', 'Started', Object.entries(HOURS)),
    h(
      'label',
      h('span', 'Tag'),
      h('input', {
        name: 'tag',
        value: filter.tag,
        placeholder: 'key:value',
        autocomplete: 'off',
        spellcheck: 'false',
        oninput: later(({ target }) => change('tag', target.value.trim())),
      }),
    ),
  );
}

/** Opens the saga that the search found, if it found exactly one. */
function onlyOne(go) {
  const links = document.querySelectorAll('main a.row');
  if (links.length === 1) go(links[0].getAttribute('href'));
}

function table(sagas) {
  return h(
    'table.sagas',
    h(
      'thead',
      h(
        'tr',
        ['Status', 'Saga', 'Correlation id', 'Current step', 'Changed', 'Started'].map((name) =>
          h('th', { scope: 'col' }, name),
        ),
      ),
    ),
    h('tbody', sagas.map(row)),
  );
}

function row(summary) {
  const { id, saga, version, status, correlationId, step, error, tags, createdAt, updatedAt } = summary;
  const { failedCompensations } = summary;
  const where =
    failedCompensations?.map((failed) => compensationName(summary, failed.step)).join(', ') ?? step;
  const href = `#/saga/${encodeURIComponent(id)}`;
  return h(
    'tr',
    { 'data-status': status },
    h('td.status', pill(status)),
    h('td.saga', sagaName(saga), version > 1 && h('small', ` v${version}`)),
    h('td.id', h('a.row.mono', { href, 'data-key': id }, correlationId), tagList(tags)),
    h(
      'td.where',
      where && h('span.step', failedCompensations ? `compensation ${where}` : where),
      error && h('span.why', error),
    ),
    h('td.time', { 'data-label': 'changed' }, since(updatedAt)),
    h('td.time', { 'data-label': 'started' }, since(createdAt)),
  );
}

function empty(filter, page, urgent) {
  if (urgent > 0 && page.items.length > 0) return undefined;
  const filtered = Object.values(filter).some((value) => value !== '');
  return h(
    'p.empty',
    filter.search
      ? 'No saga has this id or correlation id. Enter the complete id.'
      : filtered
        ? 'No saga matches these filters.'
        : 'No sagas yet. A saga appears here when it is started.',
  );
}
