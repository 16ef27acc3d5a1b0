import { h } from './dom.js';
import { ago, duration, words } from './format.js';

/** Why a saga does not move, in a sentence: a list of texts and links. */
export function waitingSentence({ status, waitingFor, steps, lockedBy, finishedAt, step }) {
  if (waitingFor) return (SENTENCES[waitingFor.kind] ?? otherwise)(waitingFor, steps);
  if (status === 'completed') return [`It completed ${ago(finishedAt)}. Nothing is left to do.`];
  if (status === 'compensated') return [`It turned back, and all was undone ${ago(finishedAt)}.`];
  if (status === 'aborted') return [`It was stopped ${ago(finishedAt)}, and nothing was undone.`];
  if (lockedBy) return [`${step ? `${words(step)}: a` : 'A'} worker is at it right now.`];
  return ['It is being worked on.'];
}

const SENTENCES = {
  retry: ({ step, at }) => [`It tries ${step} again ${ago(at)}.`],
  delay: ({ step, until }) => [`It waits for its time${step ? ` before ${step}` : ''}: ${ago(until)}.`],
  worker: ({ since }) => [
    `It is due, and no worker has taken it since ${ago(since)}: all are busy, or none is running.`,
  ],
  version: ({ saga, version, since }) => [
    `It is due since ${ago(since)}, but this application does not have ${saga} in version ${version}. A process that has it goes on with it.`,
  ],
  lock: ({ key, holder }) => [`It waits for its turn: the lock “${key}” is held by `, sagaLink(holder), '.'],
  'sub-saga': ({ step, id }) => [`${step} waits for the saga that it started: `, sagaLink(id), '.'],
  'remote-step': ({ step, handler, id }) => [`${step} waits for the handler ${handler}: `, sagaLink(id), '.'],
  handler: ({ step, handler, since, deployed }) => [
    `${step} waits for the handler ${handler} since ${ago(since)}: `,
    deployed
      ? 'the processes that have it are stopped, or busy.'
      : 'no process that has it was ever started.',
  ],
  signal: ({ step, signal, until }) => [`${step} waits for the signal “${signal}”${limit(until)}.`],
  approval: ({ step, until }) => [`${step} waits for a person to approve or reject it${limit(until)}.`],
  paused: ({ by, reason }) => [
    `It was paused${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}. Nothing more begins until somebody resumes it.`,
  ],
  concurrency: ({ limit: most, since }) => [
    `It is due since ${ago(since)}, and as many of its kind as may run at once (${most}) do.`,
  ],
  person: ({ steps: names }, steps) => {
    if (names.length === 0) return ['It needs a person.'];
    const gaveUp = steps.find(({ name }) => names.includes(name));
    const undoing = gaveUp?.status === 'compensation_failed';
    const tries = undoing ? gaveUp.compensationAttempts : gaveUp?.attempts;
    const what = `${undoing ? 'Undoing ' : ''}${names.join(', ')} gave up${tries ? ` after ${tries} attempts` : ''}`;
    return [`${what}. It needs a person: retry once the cause is gone, or skip what was done by hand.`];
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
