import { h } from './dom.js';
import { clock, duration, exact, msBetween } from './format.js';

/**
 * Draws what happened to a saga, as the server has put it in order.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 */
export function timeline({ createdAt, timeline: events }) {
  return h(
    'ol.timeline',
    ...events.map((event, n) =>
      h(
        'li',
        { 'data-status': lookOf(event) },
        h(
          'time',
          { datetime: exact(event.at), title: exact(event.at) },
          n === 0 ? clock(event.at) : `+${duration(Math.max(0, msBetween(createdAt, event.at)))}`,
        ),
        h(
          'span.what',
          withBoldStep(event),
          event.durationMs !== undefined && h('small', ` in ${duration(event.durationMs)}`),
        ),
        event.error && errorView(`${event.step} ${event.during} ${event.attempt}`, event.error),
      ),
    ),
  );
}

/** @param {import('../dashboard-data.js').ShownEvent} event */
function withBoldStep({ text, step }) {
  if (step === undefined) return text;
  const at = text.indexOf(step);
  return at < 0 ? text : [text.slice(0, at), h('b', step), text.slice(at + step.length)];
}

/**
 * The status whose color an event has.
 * @param {import('../dashboard-data.js').ShownEvent} event
 */
function lookOf({ kind, status, during }) {
  if (kind === 'operation') return 'operator';
  if (kind === 'attempt-failed') return during === 'step' ? 'failed' : 'compensation_failed';
  if (kind === 'attempt-lost') return 'failed';
  return status ?? 'running';
}

/** Shows an error with its cause and its stack. */
export function errorView(key, error) {
  const title = [h('b', error.name), error.code && h('code', error.code), ' ', error.message];
  const more = [error.stack, ...causes(error.cause)].filter(Boolean).join('\n\ncaused by ');
  if (!more) return h('p.error', title);
  return h(
    'details.error',
    { 'data-key': `error ${key}` },
    h('summary', title),
    h('pre', { tabindex: 0 }, more),
  );
}

function causes(cause) {
  return cause ? [cause.stack ?? `${cause.name}: ${cause.message}`, ...causes(cause.cause)] : [];
}
