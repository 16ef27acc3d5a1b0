import { type Mutant, specs } from './mutant.js';

const killers = [specs('aes-gcm-codec', 'coded-saga-store', 'coder')];

export const CODEC_MUTANTS: readonly Mutant[] = [
  {
    name: 'keep the leases of sagas that cannot be decoded',
    find: 'await this.store.giveBack(unreadable, lease, lease.duration).catch(() => undefined);',
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
    name: 'leave the causes of errors readable',
    find: 'cause: cause && convertError(cause, sagaId, by)',
    replace: 'cause',
    killers,
  },
];
