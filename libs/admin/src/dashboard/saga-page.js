import { events, get } from './api.js';
import { actionDialog } from './action-dialog.js';
import { ACTIONS } from './actions.js';
import { byId, h, swap } from './dom.js';
import { duration, msBetween, plural, sagaName, words } from './format.js';
import { graph } from './graph.js';
import { jsonView } from './json-view.js';
import { EVERY, live, SELDOM } from './live.js';
import { problem } from './problem.js';
import { hasEnded, pill } from './status.js';
import { at, since } from './time.js';
import { errorView, timeline } from './timeline.js';
import { sagaLink, stepToAttend, waitingSentence } from './waiting.js';

/** More would take the browser long to lay out. */
const MOST_ITEMS = 200;

/** Shows one saga: what it waits for, what happened, and the allowed actions. */
export function sagaPage(root, { params: [id], context, signal }) {
  const path = `sagas/${encodeURIComponent(id)}`;
  const page = h('article.saga-page');
  root.append(h('p.crumbs', h('a', { href: '#/' }, '← All sagas')), page);
  let drawing;
  let shown = '';
  let pushed;
  let isPushed = () => false;
  const load = async () => {
    const newest = pushed ?? get(path, {}, signal);
    pushed = undefined;
    const [saga, history] = await Promise.all([newest, get(`${path}/history`, {}, signal)]);
    // The graph changes only if the saga is moved to another version.
    if (drawing?.version !== saga.version)
      drawing = { version: saga.version, ...(await get(`${path}/graph`, {}, signal).catch(() => undefined)) };
    return { saga, history };
  };
  const every = () => (isPushed() ? SELDOM : EVERY);
  const show = (loaded, error) => {
    if (error) {
      shown = '';
      return swap(page, h('h1.visually-hidden', 'Saga'), problem(error));
    }
    const { saga, history } = loaded;
    const now = JSON.stringify(loaded);
    if (now === shown) {
      // Only the displayed times have changed.
      swap(page.querySelector('.sentence'), waitingSentence(saga));
      return;
    }
    shown = now;
    const act = (action) => actionDialog(saga, action, context, look);
    swap(page, head(saga, act), standing(saga), body(saga, drawing, history));
  };
  const look = live(signal, load, show, every);
  const receive = (saga) => {
    pushed = saga;
    // It would connect again, and be sent the same.
    if (hasEnded(saga.status)) stop.abort();
    void look();
  };
  const stop = new AbortController();
  signal.addEventListener('abort', () => stop.abort());
  isPushed = events(`${path}/events`, receive, stop.signal);
}

/** @param {import('../dashboard-data.js').ShownSaga} saga */
function head(saga, act) {
  const { status, saga: name, version, correlationId, actions, overdue } = saga;
  return h(
    'header.saga-head',
    h(
      'div',
      h('p.over', sagaName(name), ` · version ${version}`),
      h('h1', h('span.mono', correlationId), ' ', pill(status), overdue && [' ', pill('overdue')]),
    ),
    h(
      'div.actions',
      { role: 'group', 'aria-label': 'Actions' },
      ...actions.map((action) =>
        h(
          'button',
          {
            type: 'button',
            class: ACTIONS[action.kind].look ?? '',
            'data-key': `action ${action.kind}`,
            'data-action': action.kind,
            onclick: () => act(action),
          },
          ACTIONS[action.kind].label,
        ),
      ),
    ),
  );
}

/**
 * Shows what the saga waits for, and its error.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 */
function standing(saga) {
  const { status, failure, payloads } = saga;
  const last = stepToAttend(saga)?.errors.at(-1);
  return [
    h(
      'section.standing',
      { 'data-status': status, 'aria-label': 'Current state' },
      h('p.sentence', waitingSentence(saga)),
      last && h('div.failure', errorView('last', last)),
      failure && failureView(failure, failure.error?.message !== last?.message),
    ),
    !payloads.shown && h('p.notice', payloads.why),
  ];
}

/**
 * @param {NonNullable<import('../dashboard-data.js').ShownSaga['failure']>} failure
 * @param {boolean} full with the error itself, which may have been shown already
 */
function failureView({ kind, step, error, reason }, full) {
  const what = {
    error: 'It failed',
    rejected: 'It was rejected',
    timeout: 'It timed out',
    cancelled: 'It was cancelled',
    undone: 'An operator undid it',
  };
  return h(
    'div.failure',
    h('p', h('strong', what[kind] ?? words(kind)), step && [' at ', h('b', step)], reason && `: ${reason}`),
    full && error && errorView('failure', error),
  );
}

/** @param {import('../dashboard-data.js').ShownSaga} saga @param {readonly import('../dashboard-data.js').ShownHistoryEntry[]} history */
function body(saga, drawing, history) {
  const { steps } = saga;
  const pick = (name) => {
    const details = byId(`step-${name}`);
    if (!details) return;
    details.open = true;
    details.scrollIntoView({ block: 'nearest' });
    details.querySelector('summary').focus({ preventScroll: true });
  };
  const states = new Map(steps.map((step) => [step.name, step]));
  return h(
    'div.columns',
    h(
      'div.left',
      drawing?.layout &&
        panel(
          'Graph',
          h(
            'div.canvas',
            { tabindex: 0 },
            graph(drawing, { states, onpick: pick, label: `The steps of ${saga.saga}` }),
          ),
        ),
      panel('About', about(saga)),
    ),
    h(
      'div.right',
      panel('Timeline', timeline(saga)),
      panel(
        'Steps',
        steps.map((step) => stepView(step)),
      ),
      saga.payloads.shown &&
        saga.input !== undefined &&
        panel('Input', jsonView('input', 'input', saga.input)),
      saga.payloads.shown &&
        saga.startedInput !== undefined &&
        panel('Input at the start', jsonView('startedInput', 'input', saga.startedInput)),
      panel('Operators', historyView(history)),
    ),
  );
}

function panel(title, ...content) {
  return h('section.panel', h('h2', title), content);
}

/** @param {import('../dashboard-data.js').ShownSaga} saga */
function about(saga) {
  const { id, parent, steps, tags, priority, round, lockedBy, createdAt, updatedAt, finishedAt, slaAt } =
    saga;
  const children = steps.filter(({ child }) => child);
  const ended = finishedAt && `, after ${duration(msBetween(createdAt, finishedAt))}`;
  const facts = [
    ['Id', h('span.mono', id)],
    ['Started', since(createdAt)],
    ['Changed', since(updatedAt)],
    ['Ended', finishedAt && [since(finishedAt), ended]],
    ['Due by', slaAt && !finishedAt && since(slaAt)],
    ['Worker', lockedBy && h('span.mono', lockedBy)],
    ['Started by', parent && [sagaLink(parent.id), ` at ${parent.step}`]],
    [
      'Started',
      children.length > 0 && children.map(({ name, child }) => h('div', `${name}: `, sagaLink(child))),
    ],
    [
      'Tags',
      Object.keys(tags).length > 0 &&
        Object.entries(tags).map(([key, value]) => h('span.tag', `${key}:${value}`)),
    ],
    ['Priority', priority > 0 && priority],
    ['Round', round > 1 && `${round}: it was rolled back to a savepoint`],
  ];
  return h(
    'dl',
    ...facts.filter(([, fact]) => fact).map(([name, fact]) => h('div', h('dt', name), h('dd', fact))),
  );
}

/** @param {import('../dashboard-data.js').ShownStep} step */
function stepView(step) {
  const { name, status, attempts, compensationAttempts, unknown, errors, result, items, child, retryAt } =
    step;
  const { progress, heartbeatAt } = step;
  const tries = [
    attempts > 1 && plural(attempts, 'attempt'),
    compensationAttempts > 0 && `${plural(compensationAttempts, 'attempt')} of its compensation`,
  ]
    .filter(Boolean)
    .join(', ');
  const rest = [
    unknown && h('p.notice', 'The outcome of an attempt is unknown: it may have taken effect.'),
    step.continued && h('p.notice', 'This step is optional: the saga continues without it.'),
    heartbeatAt && h('p', 'Last heartbeat ', since(heartbeatAt)),
    retryAt && h('p', 'Next attempt ', since(retryAt)),
    child && h('p', 'Saga ', sagaLink(child)),
    errors.map((error) =>
      h(
        'div.attempt',
        h(
          'small',
          `${error.during === 'step' ? 'attempt' : 'compensation attempt'} ${error.attempt}, `,
          at(error.at),
        ),
        errorView(`${name} ${error.during} ${error.attempt} in step`, error),
      ),
    ),
    jsonView(`result ${name}`, 'result', result),
    items?.slice(0, MOST_ITEMS).map(stepView),
    items && items.length > MOST_ITEMS && h('p.empty', `… and ${items.length - MOST_ITEMS} more items`),
  ]
    .flat()
    .filter(Boolean);
  const title = [
    pill(status),
    h('b', name),
    tries && h('small', tries),
    progress && h('small.progress', progressText(progress)),
  ];
  if (rest.length === 0) return h('p.step-line', { 'data-status': status, id: `step-${name}` }, title);
  return h(
    'details.step-line',
    {
      'data-status': status,
      id: `step-${name}`,
      'data-key': `step ${name}`,
      open: status.endsWith('failed'),
    },
    h('summary', title),
    h('div.step-body', rest),
  );
}

/** @param {{ percent?: number, message?: string }} progress */
function progressText({ percent, message }) {
  return [percent !== undefined && `${Math.floor(percent)} %`, message].filter(Boolean).join(', ');
}

/** @param {readonly import('../dashboard-data.js').ShownHistoryEntry[]} history */
function historyView(history) {
  if (history.length === 0) return h('p.empty', 'No operator has acted on it.');
  return h(
    'ol.history',
    ...history.map((entry) => {
      const { at: when, text, proposed } = entry;
      return h('li', h('p', text), h('small', at(when), proposed && ' · waits for a second operator'));
    }),
  );
}
