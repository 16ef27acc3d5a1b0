import { get } from './api.js';
import { compensationName } from './compensation.js';
import { bulkDialog } from './bulk-dialog.js';
import { h, swap } from './dom.js';
import { filterBar, filters, sagaOptions, tagsIn } from './filters.js';
import { plural, sagaName, words } from './format.js';
import { live } from './live.js';
import { PAGE, pager, unreachableNote } from './paging.js';
import { problem } from './problem.js';
import { NEEDS_ATTENTION, pill, STATUSES } from './status.js';
import { table } from './table.js';
import { tagList } from './tag-list.js';
import { asOf, since } from './time.js';

const HOURS = { '': 'any time', 1: 'last hour', 24: 'last 24 hours', 168: 'last 7 days' };
const FILTERS = ['search', 'saga', 'status', 'tag', 'hours'];

/** All sagas: those that need attention first, then the newest. */
export function sagasPage(root, { query, context, signal, go }) {
  const chosen = filters('', FILTERS, query, () => {
    cursors.length = 0;
    void look();
  });
  const filter = chosen.values;
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
        sagaTable(stuck.items),
      ],
    );
    urgent.className = stuck?.items.length > 0 ? 'urgent' : '';
    const rest = page.items.filter(({ id }) => !isUrgent.has(id));
    swap(
      list,
      unreachableNote(page.unreachable, 'sagas'),
      rest.length > 0 ? sagaTable(rest) : empty(filter, page, isUrgent.size),
      asOf(page.asOf),
      pager(cursors, page.next, () => void look(), ['Newer', 'Older']),
    );
  };
  const look = live(signal, ask, show);
  root.append(h('h1.visually-hidden', 'Sagas'), bar(chosen, context, go), many, urgent, list);
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
    ...(search ? { search } : { saga, status, tag: tagsIn(tag) }),
    ...(hours && !search && { createdAfter: new Date(Date.now() - hours * 3_600_000).toISOString() }),
  };
}

function bar({ text, select }, context, go) {
  const statuses = [
    ...[
      ['', 'all'],
      ['needs-attention', 'needs attention'],
    ],
    ...STATUSES.map((status) => [status, words(status)]),
  ];
  const search = text('search', 'Correlation id or id', {
    ...{ type: 'search', id: 'search', maxlength: 255 },
    onkeydown: (event) => event.key === 'Enter' && onlyOne(go),
  });
  return filterBar({
    Find: [search, h('kbd', { 'aria-hidden': 'true' }, '/')],
    Saga: select('saga', sagaOptions(context)),
    Status: select('status', statuses),
    Started: select('hours', Object.entries(HOURS)),
    Tag: text('tag', 'key:value'),
  });
}

/** Opens the saga that the search found, if it found exactly one. */
function onlyOne(go) {
  const links = document.querySelectorAll('main a.row');
  if (links.length === 1) go(links[0].getAttribute('href'));
}

function sagaTable(sagas) {
  const heads = ['Status', 'Saga', 'Correlation id', 'Current step', 'Changed', 'Started'];
  return table('sagas', heads, sagas.map(row));
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
