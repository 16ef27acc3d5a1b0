import { get } from './api.js';
import { confirmButton } from './dialog.js';
import { h, swap } from './dom.js';
import { field, operatorField } from './fields.js';
import { sagaName } from './format.js';
import { live, SELDOM } from './live.js';
import { problem } from './problem.js';
import { pausedSince, pill } from './status.js';
import { wideTable } from './table.js';
import { since } from './time.js';

const ACTIONS = {
  pause: { label: 'Pause…', title: 'Pause the schedule?', text: 'It starts no saga until it is resumed.' },
  resume: { label: 'Resume…', title: 'Resume the schedule?', text: 'It goes on with its next time.' },
  trigger: { label: 'Start now…', title: 'Start a saga now?', text: 'It starts beside the scheduled ones.' },
};
/** A process starts a saga at its time. If it is later than this (ms), no process runs the schedule. */
const LATE = 60_000;

/** Shows the schedules with their last and next runs. */
export function schedulesPage(root, { context, signal }) {
  const list = h('div.schedules');
  root.append(h('h1', 'Schedules'), list);
  const look = live(
    signal,
    () => get('schedules', {}, signal),
    (schedules, error) => {
      if (error) swap(list, problem(error));
      else if (schedules.length === 0) swap(list, h('p.empty', 'No saga of this database has a schedule.'));
      else
        swap(
          list,
          table(schedules, context, () => void look()),
        );
    },
    SELDOM,
  );
}

function table(schedules, context, done) {
  return wideTable(
    'figures.entries',
    ['Saga', 'Schedule', 'Next run', 'Last run', ''],
    schedules.map((one) => row(one, context, done)),
  );
}

function row(schedule, context, done) {
  const { saga, cron, timezone, overlap, catchUp, actions } = schedule;
  return h(
    'tr',
    { 'data-schedule': saga },
    h('td', h('a', { href: `#/?${new URLSearchParams({ saga })}` }, sagaName(saga))),
    h('td', h('span.mono', cron), h('small', ` ${timezone}, overlap: ${overlap}, catch-up: ${catchUp}`)),
    h('td', nextOf(schedule)),
    h('td', lastOf(schedule)),
    h('td.buttons', ...actions.map((kind) => button(kind, saga, context, done))),
  );
}

function nextOf({ next, paused }) {
  if (paused) return pausedSince(paused.at, paused);
  const isLate = Date.parse(next) < Date.now() - LATE;
  return [since(next), isLate && h('small', ' no process runs it')];
}

function lastOf({ last, skippedAt }) {
  return [
    last
      ? [
          h('a', { href: `#/saga/${encodeURIComponent(last.sagaId)}` }, since(last.at)),
          last.triggered && h('small', ' started by an operator'),
          last.status ? [' ', pill(last.status)] : h('small', ' ended'),
        ]
      : '–',
    skippedAt && h('small', ' skipped ', since(skippedAt)),
  ];
}

function button(kind, saga, context, done) {
  const fields = kind === 'pause' ? [field('reason', 'Reason'), operatorField(context)] : [];
  const path = `schedules/${encodeURIComponent(saga)}/${kind}`;
  return confirmButton({ kind, ...ACTIONS[kind] }, saga, path, fields, done);
}
