import { h } from './dom.js';
import { compensationName } from './compensation.js';
import { ago, duration, words } from './format.js';

/** Returns a sentence that says what a saga waits for, as a list of texts and links. */
export function waitingSentence(saga) {
  const { status, waitingFor, lockedBy, finishedAt, step } = saga;
  if (waitingFor) return (SENTENCES[waitingFor.kind] ?? otherwise)(waitingFor, saga);
  if (status === 'completed') return [`It completed ${ago(finishedAt)}. Nothing is left to do.`];
  if (status === 'compensated') return [`It was compensated ${ago(finishedAt)}.`];
  if (status === 'aborted') return [`It was aborted ${ago(finishedAt)}. Nothing was compensated.`];
  if (lockedBy) return [`A worker runs it now${step ? `: ${step}` : ''}.`];
  return ['It is running.'];
}

const SENTENCES = {
  retry: ({ step, at }) => [`The next attempt of ${step} is ${ago(at)}.`],
  delay: ({ step, until }) => [
    `It waits for ${step ? `the delay before ${step}` : 'its start time'}: ${ago(until)}.`,
  ],
  worker: ({ since }) => [
    `It is due since ${ago(since)}, but no worker has claimed it: all workers are busy, or none is running.`,
  ],
  version: ({ saga, version, since }) => [
    `It is due since ${ago(since)}, but this application does not have ${saga} in version ${version}. A process that has it continues the saga.`,
  ],
  lock: ({ key, holder }) => [`It waits for the lock “${key}”, which is held by `, sagaLink(holder), '.'],
  'sub-saga': ({ step, id }) => [`${step} waits for the saga that it started: `, sagaLink(id), '.'],
  'remote-step': ({ step, handler, id }) => [`${step} waits for the handler ${handler}: `, sagaLink(id), '.'],
  handler: ({ step, handler, since, deployed }) => [
    `${step} waits for the handler ${handler} since ${ago(since)}: `,
    deployed ? 'the processes that have it are stopped or busy.' : 'no process that has it was ever started.',
  ],
  signal: ({ step, signal, until }) => [`${step} waits for the signal “${signal}”${limit(until)}.`],
  approval: ({ step, until }) => [`${step} waits for an operator to approve or reject it${limit(until)}.`],
  paused: ({ by, reason }) => [
    `It was paused${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}. No step begins until an operator resumes it.`,
  ],
  concurrency: ({ limit: most, since }) => [
    `It is due since ${ago(since)}, but ${most} sagas of its name are running, which is their concurrency.`,
  ],
  person: ({ steps: names }, saga) => {
    if (names.length === 0) return ['It needs attention: an operator has to retry it or abort it.'];
    const all = saga.steps.flatMap((step) => [step, ...(step.items ?? [])]);
    const failed = all.find(({ name }) => names.includes(name));
    const compensating = failed?.status === 'compensation_failed';
    const tries = compensating ? failed.compensationAttempts : failed?.attempts;
    const what = compensating
      ? `${names.length > 1 ? 'The compensations' : 'The compensation'} ${names.map((name) => compensationName(saga, name)).join(', ')}`
      : names.join(', ');
    const after = tries && names.length === 1 ? ` after ${tries} attempt${tries === 1 ? '' : 's'}` : '';
    return [
      `${what} failed${after}. It needs attention: fix the cause and retry it, or complete it manually and skip it.`,
    ];
  },
};

function otherwise({ kind }) {
  return [`It waits: ${words(kind)}.`];
}

function limit(until) {
  return until ? `, for another ${duration(Math.max(0, new Date(until) - Date.now()))} at most` : '';
}

export function sagaLink(id, text = id) {
  return h('a', { href: `#/saga/${encodeURIComponent(id)}`, class: 'mono' }, text);
}
