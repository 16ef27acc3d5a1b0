import { type Mutant, specs } from './mutant.js';

const killers = [specs('aes-gcm-codec', 'coded-saga-store', 'coder')];

export const CODEC_MUTANTS: readonly Mutant[] = [
  {
    name: 'keep the leases of sagas that cannot be decoded',
    find: 'await store.giveBack(unreadable, lease, lease.duration).catch(() => undefined);',
    replace: '',
    killers,
  },
  {
    name: 'give sagas that cannot be decoded back to be due at once',
    find: 'giveBack(unreadable, lease, lease.duration)',
    replace: 'giveBack(unreadable, lease, 0)',
    killers,
  },
  {
    name: "give back a lease that is another's by now (in memory)",
    find: 'if (saga?.epoch !== epoch || saga.lockedBy !== worker) continue;',
    replace: 'if (!saga) continue;',
    killers: [specs('memory-saga-store')],
  },
  {
    name: 'let encrypted values be moved from a saga to another',
    find: '[kind, sagaId, step, messageId]',
    replace: '[kind, step, messageId]',
    killers,
  },
  {
    name: 'take what only looks encoded for it',
    find: 'return LOOKS_CODED.test(text) ? ` ${text}` : text;',
    replace: 'return text;',
    killers,
  },
  {
    name: 'let a process without the codec copy what is encoded',
    find: 'if (!isCoded(field, true)) return field;',
    replace: 'return field;',
    killers,
  },
  {
    name: 'leave the causes of errors readable',
    find: 'cause: (cause, by, place) => convertError(cause, by, place)',
    replace: 'cause: OPEN',
    killers,
  },
  {
    name: 'leave an error readable that is the same as that of the attempt before',
    in: 'convertCheckpoint',
    find: 'const { id: sagaId, changed: keys } = checkpoint;',
    replace:
      'const { id: sagaId, changed, notes } = checkpoint; const keys = changed.filter((name) => !notes?.has(name));',
    killers: [specs('sagas/start/private-values')],
  },
  {
    name: 'leave the reason readable for which a step is paused',
    find: 'pause: (step, who) => pauses.pause(step, encoded(who, step))',
    replace: 'pause: (step, who) => pauses.pause(step, who)',
    killers: [specs('sagas/start/private-values')],
  },
];
