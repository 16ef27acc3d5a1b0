import { h } from './dom.js';

/** The texts of each action: when it was done, and when it was proposed. */
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

/** Returns a sentence about an operator action, as texts and elements. */
export function deed({ action, by, step, signal, proposed, newInput }) {
  return [
    h('b', {}, by ?? 'An operator'),
    ` ${proposed ? 'proposed to ' : ''}${PAST[action]?.[proposed ? 1 : 0] ?? action}`,
    (step ?? signal) && [' ', h('b', {}, step ?? signal)],
    newInput && ' with another input',
  ];
}
