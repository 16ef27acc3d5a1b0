import { actionButton } from './action-button.js';
import { get } from './api.js';
import { confirmDialog } from './confirm-dialog.js';
import { field, operatorField } from './fields.js';
import { h, swap } from './dom.js';
import { figuresTable } from './figures-table.js';
import { sagaName } from './format.js';
import { live, SELDOM } from './live.js';
import { pill } from './pill.js';
import { problem } from './problem.js';
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
          table(schedules, (schedule, kind) => confirmAction(schedule, kind, context, () => void look())),
        );
    },
    SELDOM,
  );
}

function table(schedules, act) {
  return figuresTable(
    ['Saga', 'Schedule', 'Next run', 'Last run', ''],
    schedules.map((one) => row(one, act)),
    'entries',
  );
}

function row(schedule, act) {
  const { saga, cron, timezone, overlap, catchUp, actions } = schedule;
  return h(
    'tr',
    { 'data-schedule': saga },
    h('td', h('a', { href: `#/?${new URLSearchParams({ saga })}` }, sagaName(saga))),
    h('td', h('span.mono', cron), h('small', ` ${timezone}, overlap: ${overlap}, catch-up: ${catchUp}`)),
    h('td', nextOf(schedule)),
    h('td', lastOf(schedule)),
    h(
      'td.buttons',
      actions.map((kind) => actionButton(kind, ACTIONS[kind].label, saga, () => act(schedule, kind))),
    ),
  );
}

function nextOf({ next, paused }) {
  if (paused) {
    const who = [paused.by && `by ${paused.by}`, paused.reason].filter(Boolean).join(': ');
    return [pill('paused'), ' since ', since(paused.at), who && h('small', ` ${who}`)];
  }
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

function confirmAction({ saga }, kind, context, done) {
  confirmDialog(
    { kind, about: saga, ...ACTIONS[kind] },
    `schedules/${encodeURIComponent(saga)}/${kind}`,
    kind === 'pause' && [field('reason', 'Reason', {}), operatorField(context)],
    done,
  );
}
