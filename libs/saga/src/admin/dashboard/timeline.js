import { deed } from './history-entry.js';
import { h } from './dom.js';
import { clock, duration, exact, words } from './format.js';

/** More would take the browser long to lay out: the last ones are what matters. */
const MOST = 300;

/** Returns the events of a saga, oldest first. */
export function timelineOf(saga, history) {
  const events = [
    { at: saga.createdAt, status: 'running', text: 'started' },
    ...saga.steps.flatMap((step) => [step, ...(step.items ?? [])]).flatMap(eventsOf),
    ...history.map((entry) => ({ at: entry.at, status: 'operator', text: deed(entry) })),
  ];
  if (saga.finishedAt) events.push({ at: saga.finishedAt, status: saga.status, text: words(saga.status) });
  else if (['stuck', 'suspended', 'paused'].includes(saga.status))
    events.push({ at: saga.updatedAt, status: saga.status, text: words(saga.status) });
  return events
    .map((event, n) => [event, n])
    .sort(([a, n], [b, m]) => a.at.localeCompare(b.at) || n - m)
    .map(([event]) => event);
}

function eventsOf(step) {
  const { name, status, attempts, compensationAttempts, startedAt, updatedAt } = step;
  const events = step.errors.map((error) => ({
    at: error.at,
    step: name,
    error,
    status: error.during === 'step' ? 'failed' : 'compensation_failed',
    text: `${error.during === 'step' ? 'attempt' : 'compensation attempt'} ${error.attempt} failed`,
  }));
  events.push(...(step.lost ?? []).flatMap((attempt) => lostEvents(name, attempt)));
  if (!startedAt) return events;
  const took = updatedAt && duration(new Date(updatedAt) - new Date(startedAt));
  const tries = attempts > 1 ? ` at attempt ${attempts}` : '';
  if (status === 'completed')
    events.push({ at: updatedAt, step: name, status, text: `completed${tries}`, took });
  // The time at which a compensated step completed is not stored. The time at which it began is.
  if (['compensating', 'compensated', 'compensation_failed'].includes(status) && !step.unknown)
    events.push({ at: startedAt, step: name, status: 'completed', text: `completed${tries}` });
  if (status === 'compensated') events.push({ at: updatedAt, step: name, status, text: 'compensated' });
  if (status === 'compensation_failed')
    events.push({
      at: updatedAt,
      step: name,
      status,
      text: `compensation failed after ${compensationAttempts} attempts`,
    });
  if (status === 'failed')
    events.push({ at: updatedAt, step: name, status, text: 'failed: retries exhausted' });
  if (status === 'running' || status === 'waiting')
    events.push({ at: step.runningSince ?? startedAt, step: name, status, text: `${words(status)}${tries}` });
  return events;
}

/** Returns the events of an attempt without an outcome: its start, its loss, and the takeover by another worker. */
function lostEvents(step, { attempt, during, worker, startedAt, lostAt, takenOverAt }) {
  const which = `${during === 'step' ? 'attempt' : 'compensation attempt'} ${attempt}`;
  const why = worker ? `the lease of worker ${worker} expired` : 'its worker was shut down';
  const events = [{ at: lostAt, step, status: 'failed', text: `${which} was lost: ${why}` }];
  if (startedAt)
    events.unshift({
      at: startedAt,
      step,
      status: 'running',
      text: `${which} began${worker ? ` on worker ${worker}` : ''}`,
    });
  if (takenOverAt)
    events.push({ at: takenOverAt, step, status: 'running', text: `${which}: another worker took over` });
  return events;
}

export function timeline(saga, history) {
  const start = new Date(saga.createdAt);
  const all = timelineOf(saga, history);
  const events = [...all.slice(0, 1), ...all.slice(1).slice(-MOST)];
  return h(
    'ol',
    { class: 'timeline' },
    events.map((event, n) =>
      h(
        'li',
        { 'data-status': event.status },
        h(
          'time',
          { datetime: exact(event.at), title: exact(event.at) },
          n === 0 ? clock(event.at) : `+${duration(Math.max(0, new Date(event.at) - start))}`,
        ),
        h(
          'span',
          { class: 'what' },
          event.step && h('b', {}, event.step),
          ' ',
          event.text,
          event.took && h('small', {}, ` in ${event.took}`),
        ),
        event.error && errorView(`${event.step} ${event.error.during} ${event.error.attempt}`, event.error),
      ),
    ),
  );
}

/** Shows an error with its cause and its stack. */
export function errorView(key, error) {
  const title = [h('b', {}, error.name), error.code && h('code', {}, error.code), ' ', error.message];
  const more = [error.stack, ...causes(error.cause)].filter(Boolean).join('\n\ncaused by ');
  if (!more) return h('p', { class: 'error' }, title);
  return h(
    'details',
    { class: 'error', 'data-key': `error ${key}` },
    h('summary', {}, title),
    h('pre', { tabindex: 0 }, more),
  );
}

function causes(cause) {
  return cause ? [cause.stack ?? `${cause.name}: ${cause.message}`, ...causes(cause.cause)] : [];
}
