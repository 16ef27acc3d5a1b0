import { h } from './dom.js';
import { compensationName } from './compensation.js';
import { ago, clock, exact } from './format.js';

const TIME = /(\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/**
 * Returns sentences that say how a saga is and what it waits for, as a list of texts and elements.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 */
export function waitingSentence(saga) {
  const { status, waitsFor, waitingFor, lockedBy, finishedAt, step } = saga;
  if (waitsFor && waitingFor)
    return [
      failedSentence(saga, waitingFor),
      'It waits for ',
      withLinks(waitsFor, waitingFor),
      '.',
      adviceFor(waitingFor),
    ];
  if (status === 'completed') return [`It completed ${ago(finishedAt)}. Nothing is left to do.`];
  if (status === 'compensated') return [`It was compensated ${ago(finishedAt)}.`];
  if (status === 'aborted') return [`It was aborted ${ago(finishedAt)}. Nothing was compensated.`];
  if (lockedBy) return [`A worker runs it now${step ? `: ${step}` : ''}.`];
  return ['It is running.'];
}

/**
 * The text of the server, with a link to the saga that it names, and its times in the time zone of the browser.
 * @param {string} waitsFor
 * @param {import('../dashboard-data.js').ShownWait} waitingFor
 */
function withLinks(waitsFor, waitingFor) {
  const other = 'holder' in waitingFor ? waitingFor.holder : 'id' in waitingFor ? waitingFor.id : undefined;
  return waitsFor.split(TIME).map((part, n) => {
    if (n % 2 === 1)
      return h('time', { datetime: part, title: exact(part) }, `${clock(part)} (${ago(part)})`);
    if (other === undefined) return part;
    const at = part.lastIndexOf(other);
    return at < 0 ? part : [part.slice(0, at), sagaLink(other), part.slice(at + other.length)];
  });
}

/**
 * Returns what failed, by the name of the compensation and with its attempts.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 * @param {import('../dashboard-data.js').ShownWait} waitingFor
 */
function failedSentence(saga, waitingFor) {
  const { steps } = saga;
  if (waitingFor.kind !== 'person' || waitingFor.steps.length === 0) return undefined;
  const names = waitingFor.steps;
  const all = steps.flatMap((step) => [step, ...(step.items ?? [])]);
  const failed = all.find(({ name }) => names.includes(name));
  const compensating = failed?.status === 'compensation_failed';
  const tries = compensating ? failed.compensationAttempts : failed?.attempts;
  const what = compensating
    ? `${names.length > 1 ? 'The compensations' : 'The compensation'} ${names.map((name) => compensationName(saga, name)).join(', ')}`
    : names.join(', ');
  const after = tries && names.length === 1 ? ` after ${tries} attempt${tries === 1 ? '' : 's'}` : '';
  return `${what} failed${after}. `;
}

/** @param {import('../dashboard-data.js').ShownWait} waitingFor */
function adviceFor(waitingFor) {
  if (waitingFor.kind === 'paused') return ' No step begins until then.';
  if (waitingFor.kind !== 'person') return undefined;
  return waitingFor.steps.length === 0
    ? ' Retry it or abort it.'
    : ' Fix the cause and retry it, or complete it manually and skip it.';
}

export function sagaLink(id, text = id) {
  return h('a', { href: `#/saga/${encodeURIComponent(id)}`, class: 'mono' }, text);
}
