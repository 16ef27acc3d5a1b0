import { get } from './api.js';
import { bars, lines } from './chart.js';
import { h, swap } from './dom.js';
import { filterBar, filters, sagaOptions } from './filters.js';
import { ago, count, duration, sagaName } from './format.js';
import { live, SELDOM } from './live.js';
import { problem } from './problem.js';
import { NEEDS_ATTENTION, pill } from './status.js';
import { table, wideTable } from './table.js';
import { asOf } from './time.js';

const PARTS = [
  ['completed', 'completed', 'completed'],
  ['open', 'running', 'in progress'],
  ['turnedBack', 'compensated', 'compensated'],
  ['aborted', 'aborted', 'aborted'],
  ['needPerson', 'stuck', 'need attention'],
];
const DURATIONS = [
  ['p50', 'running', 'p50'],
  ['p95', 'compensating', 'p95'],
];
const SPANS = { 1: 'last hour', 24: 'last 24 hours', 168: 'last 7 days' };
const BUCKETS = { 1: 30, 24: 24, 168: 42 };

/** Shows the numbers of sagas by status, and their results and durations over time. */
export function overviewPage(root, { query, context, signal }) {
  const { values: asked, select } = filters('overview', ['saga', 'hours'], query, () => void look());
  if (!(asked.hours in SPANS)) asked.hours = '24';
  const now = h('div.now');
  const rates = h('div.rates');
  const load = async () => {
    const stats = await get('stats', {}, signal).catch((error) => ({ error }));
    return { stats, rates: await get('rates', { ...asked, buckets: BUCKETS[asked.hours] }, signal) };
  };
  const look = live(
    signal,
    load,
    (loaded, error) => {
      if (error) return swap(rates, problem(error));
      swap(now, loaded.stats.error ? problem(loaded.stats.error) : standing(loaded.stats));
      swap(rates, charts(loaded.rates, asked.saga), asOf(loaded.rates.asOf));
    },
    SELDOM,
  );
  const bar = filterBar({
    Saga: select('saga', sagaOptions(context)),
    Started: select('hours', Object.entries(SPANS)),
  });
  root.append(h('h1', 'Overview'), now, bar, rates);
}

function standing({ sagas, due, oldestDue, overdue, pausedSteps, outbox }) {
  const tile = (name, value, note, status) =>
    h('div.tile', { 'data-status': status }, h('dt', name), h('dd', value, note && h('small', note)));
  const person = total(sagas.filter(({ status }) => NEEDS_ATTENTION.includes(status)));
  return [
    h(
      'dl.tiles',
      tile('Not finished', count(total(sagas))),
      tile('Need attention', count(person), undefined, person > 0 ? 'stuck' : undefined),
      tile('Due now', count(due), oldestDue && `oldest ${ago(oldestDue)}`),
      tile('Overdue', count(overdue), 'past their sla', overdue > 0 ? 'compensating' : undefined),
      pausedSteps.length > 0 &&
        tile(
          'Paused steps',
          h('a', { href: '#/definitions' }, count(pausedSteps.length)),
          undefined,
          'paused',
        ),
      outbox && tile('Outbox', count(outbox.waiting), outbox.oldest && `oldest ${ago(outbox.oldest)}`),
      outbox && tile('Dead messages', count(outbox.dead), undefined, outbox.dead > 0 ? 'stuck' : undefined),
    ),
    sagas.length > 0 && table('counts', ['Saga', 'Status', 'Count'], sagas.map(countRow)),
  ];
}

function countRow({ saga, version, status, count: number }) {
  const link = h('a', { href: `#/?${new URLSearchParams({ saga, status })}` }, sagaName(saga));
  const which = version > 1 && h('small', ` v${version}`);
  return h('tr', h('td', link, which), h('td', pill(status)), h('td.number', count(number)));
}

function total(sagas) {
  return sagas.reduce((sum, { count: number }) => sum + number, 0);
}

function charts({ buckets }, saga) {
  const started = buckets.map(({ from, sagas }) => ({ from, parts: added(sagas) }));
  const times = buckets.map(({ from, sagas }) => ({ from, values: durationsOf(sagas) }));
  const some = buckets.some(({ sagas }) => sagas.length > 0);
  if (!some) return h('p.empty', 'No sagas were started in this time.');
  return [
    buckets.some(({ complete }) => !complete) &&
      h(
        'p.notice',
        'More sagas were started than this page reads. The counts include the first 1,000 sagas of each bar.',
      ),
    h('div.charts', bars('Sagas by start time', started, PARTS), lines('Duration', times, DURATIONS)),
    sagaTable(buckets),
    saga && stepTable(buckets),
  ];
}

function added(sagas) {
  const parts = { completed: 0, turnedBack: 0, aborted: 0, needPerson: 0, open: 0 };
  for (const { started, completed, turnedBack, aborted, needPerson } of sagas) {
    parts.completed += completed;
    parts.turnedBack += turnedBack;
    parts.aborted += aborted;
    parts.needPerson += needPerson;
    parts.open += started - completed - turnedBack - aborted - needPerson;
  }
  return parts;
}

/** Returns the means of p50 and p95 of several sagas, weighted by their numbers. */
function durationsOf(rows) {
  return { p50: weighted(rows, 'p50'), p95: weighted(rows, 'p95') };
}

function weighted(rows, name, weight = 'started') {
  const known = rows.filter((row) => row[name] !== undefined);
  const sum = known.reduce((all, row) => all + row[weight], 0);
  return sum === 0 ? undefined : known.reduce((all, row) => all + row[name] * row[weight], 0) / sum;
}

function sagaTable(buckets) {
  const names = [...new Set(buckets.flatMap(({ sagas }) => sagas.map(({ saga }) => saga)))].sort();
  const rows = names.map((name) => {
    const all = buckets.flatMap(({ sagas }) => sagas.filter(({ saga }) => saga === name));
    const { completed, turnedBack, aborted, needPerson, open } = added(all);
    const started = completed + turnedBack + aborted + needPerson + open;
    const link = h('a', { href: `#/overview?${new URLSearchParams({ saga: name })}` }, sagaName(name));
    return [
      link,
      count(started),
      count(completed),
      count(turnedBack),
      count(needPerson),
      share(turnedBack + aborted + needPerson, started),
      duration(weighted(all, 'p50')),
      duration(weighted(all, 'p95')),
    ];
  });
  return figures(
    ['Saga', 'Started', 'Completed', 'Compensated', 'Need attention', 'Failed', 'p50', 'p95'],
    rows,
  );
}

function stepTable(buckets) {
  const names = [...new Set(buckets.flatMap(({ steps }) => steps.map(({ step }) => step)))];
  const rows = names.map((name) => {
    const all = buckets.flatMap(({ steps }) => steps.filter(({ step }) => step === name));
    const [runs, failures] = ['runs', 'failures'].map((what) => all.reduce((sum, one) => sum + one[what], 0));
    return [
      name,
      count(runs),
      count(failures),
      share(failures, runs),
      duration(weighted(all, 'p50', 'runs')),
      duration(weighted(all, 'p95', 'runs')),
    ];
  });
  return [h('h2', 'Steps'), figures(['Step', 'Runs', 'With failures', 'Failed', 'p50', 'p95'], rows)];
}

function share(part, whole) {
  return whole === 0 ? '–' : `${((part / whole) * 100).toFixed(part > 0 && part / whole < 0.1 ? 1 : 0)} %`;
}

function figures(heads, rows) {
  const cellOf = (cell, n) => h(n > 0 ? 'td.number' : 'td', cell);
  return wideTable(
    'figures',
    heads,
    rows.map((cells) => h('tr', ...cells.map(cellOf))),
  );
}
