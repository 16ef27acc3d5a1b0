import { type Mutant, specs } from './mutant.js';

const killers = [specs('store/coded')];

export const CODEC_MUTANTS: readonly Mutant[] = [
  {
    name: 'keep the leases of sagas that cannot be decoded',
    file: 'store/coded/coded-saga-store.ts',
    find: 'await this.store.giveBack(unreadable, lease, lease.duration).catch(() => undefined);',
    replace: '',
    killers,
  },
  {
    name: 'give sagas that cannot be decoded back to be due at once',
    file: 'store/coded/coded-saga-store.ts',
    find: 'giveBack(unreadable, lease, lease.duration)',
    replace: 'giveBack(unreadable, lease, 0)',
    killers,
  },
  {
    name: "give back a lease that is another's by now (in memory)",
    file: 'store/memory/memory-saga-store.ts',
    find: 'if (saga?.epoch !== epoch || saga.lockedBy !== worker) continue;',
    replace: 'if (!saga) continue;',
    killers: [specs('store/memory/memory-saga-store')],
  },
  {
    name: 'let encrypted values be moved from a saga to another',
    file: 'store/coded/aes-gcm-codec.ts',
    find: '[kind, sagaId, step, messageId]',
    replace: '[kind, step, messageId]',
    killers,
  },
  {
    name: 'take what only looks encoded for it',
    file: 'store/coded/coder.ts',
    find: 'return LOOKS_CODED.test(text) ? ` ${text}` : text;',
    replace: 'return text;',
    killers,
  },
  {
    name: 'leave the causes of errors readable',
    file: 'store/coded/convert-saga.ts',
    find: 'cause: cause && convertError(cause, sagaId, by),',
    replace: 'cause,',
    killers,
  },
];
