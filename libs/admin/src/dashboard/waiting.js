import { h } from './dom.js';
import { compensationName } from './compensation.js';
import { ago, clock, exact } from './format.js';

/**
 * Returns sentences that say how a saga is and what it waits for, as a list of texts and elements.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 */
export function waitingSentence(saga) {
  const { status, waitsForParts, lockedBy, finishedAt, step } = saga;
  if (waitsForParts)
    return [failedSentence(saga), 'It waits for ', waitsForParts.map(partView), '.', adviceFor(saga)];
  if (status === 'completed') return [`It completed ${ago(finishedAt)}. Nothing is left to do.`];
  if (status === 'compensated') return [`It was compensated ${ago(finishedAt)}.`];
  if (status === 'aborted') return [`It was aborted ${ago(finishedAt)}. Nothing was compensated.`];
  if (lockedBy) return [`A worker runs it now${step ? `: ${step}` : ''}.`];
  return ['It is running.'];
}

/** @param {NonNullable<import('../dashboard-data.js').ShownSaga['waitsForParts']>[number]} part */
function partView(part) {
  if (typeof part === 'string') return part;
  if ('saga' in part) return sagaLink(part.saga);
  const { time } = part;
  return h('time', { datetime: time, title: exact(time) }, `${clock(time)} (${ago(time)})`);
}

/**
 * Returns the names of the steps and items at which a saga waits for an operator. Undefined: it waits for something else.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 */
function stepsToAttend({ waitingFor }) {
  return waitingFor && 'steps' in waitingFor ? waitingFor.steps : undefined;
}

/**
 * Returns the first step or item at which a saga waits for an operator.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 */
export function stepToAttend(saga) {
  const names = stepsToAttend(saga);
  const all = saga.steps.flatMap((step) => [step, ...(step.items ?? [])]);
  return all.find(({ name }) => names?.includes(name));
}

/**
 * Returns what failed, by the name of the compensation and with its attempts.
 * @param {import('../dashboard-data.js').ShownSaga} saga
 */
function failedSentence(saga) {
  const names = stepsToAttend(saga) ?? [];
  if (names.length === 0) return undefined;
  const failed = stepToAttend(saga);
  const compensating = failed?.status === 'compensation_failed';
  const tries = compensating ? failed.compensationAttempts : failed?.attempts;
  const what = compensating
    ? `${names.length > 1 ? 'The compensations' : 'The compensation'} ${names.map((name) => compensationName(saga, name)).join(', ')}`
    : names.join(', ');
  const after = tries && names.length === 1 ? ` after ${tries} attempt${tries === 1 ? '' : 's'}` : '';
  return `${what} failed${after}. `;
}

/** @param {import('../dashboard-data.js').ShownSaga} saga */
function adviceFor(saga) {
  const steps = stepsToAttend(saga);
  if (!steps) return undefined;
  return steps.length === 0
    ? ' Retry it or abort it.'
    : ' Fix the cause and retry it, or do it elsewhere and resolve it.';
}

export function sagaLink(id, text = id) {
  return h('a.mono', { href: `#/saga/${encodeURIComponent(id)}` }, text);
}
