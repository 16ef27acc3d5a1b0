import { h } from './dom.js';

/** What was done, and what was proposed. */
const PAST = {
  cancel: ['cancelled it', 'cancel it'],
  abort: ['aborted it', 'abort it'],
  undo: ['undid it', 'undo it'],
  retry: ['retried', 'retry'],
  skip: ['skipped', 'skip'],
  pause: ['paused it', 'pause it'],
  resume: ['resumed it', 'resume it'],
  approve: ['approved', 'approve'],
  reject: ['rejected', 'reject'],
  signal: ['sent the signal', 'send the signal'],
};

/** Who did what, in words: texts and elements. */
export function deed({ action, by, step, signal, proposed, newInput }) {
  return [
    h('b', {}, by ?? 'Somebody'),
    ` ${proposed ? 'proposed to ' : ''}${PAST[action]?.[proposed ? 1 : 0] ?? action}`,
    (step ?? signal) && [' ', h('b', {}, step ?? signal)],
    newInput && ' with another input',
  ];
}
