import { type Mutant, simulation, specs } from './mutant.js';

const killers = [simulation(60)];
const contract = [specs('store/message-store')];

/** Of the relay, the inbox and starts in transactions of the caller. */
export const MESSAGING_MUTANTS: readonly Mutant[] = [
  {
    name: 'read a lane on from where it was read to, in the model',
    file: 'test/models/outbox-model.ts',
    find: 'return Math.min(readTo, Math.max(0, ...marks.filter(({ xid }) => xid < ended).map(({ seq }) => seq)));',
    replace: 'return ended > 0 && marks.length > 0 && this.now - readFromStartAt < 1_000 ? readTo : 0;',
    killers,
  },
  {
    name: 'read a lane on from where it was read to',
    file: 'store/postgres/schema/functions/relay-order.ts',
    find: 'CASE WHEN ${l}.leased_by IS NOT NULL OR',
    replace: 'CASE WHEN ${l}.leased_by IS NULL THEN ${l}.read_to WHEN ${l}.leased_by IS NOT NULL OR',
    killers: contract,
  },
  {
    name: 'take what a relay reports of a lane that it has lost',
    file: 'store/postgres/schema/functions/relay.function.ts',
    find: 'SELECT array_agg(p.lane) FILTER (WHERE p.mine) INTO mine FROM (',
    replace: 'SELECT array_agg(p.lane) INTO mine FROM (',
    killers: contract,
  },
  {
    name: 'send what comes behind a message that failed',
    file: 'messaging/relay/relay/send-in-order.ts',
    find: 'return void report.behind.push(...line.slice(n + 1));',
    replace: 'continue;',
    killers,
  },
  {
    name: 'send messages of a key side by side',
    file: 'messaging/relay/relay/send-in-order.ts',
    find: 'const name = `${message.topic}\\0${message.key}`;',
    replace: 'const name = message.id;',
    killers,
  },
  {
    name: 'take a message for sent that the broker has not confirmed',
    file: 'messaging/relay/relay/send-in-order.ts',
    find: 'fail(message, asError(error));',
    replace: 'fail(message, asError(error));\n        report.sent.push(message);',
    killers,
  },
  {
    name: 'forget that messages of a lane were left unsent',
    file: 'messaging/relay/relay.ts',
    find: 'if (!settled.has(message)) unfinished.add(message.lane);',
    replace: 'if (settled.has(message)) unfinished.add(message.lane);',
    killers,
  },
  {
    name: 'handle a message that was handled before',
    file: 'messaging/inbox.ts',
    find: 'if (!(await inbox.isNew(own, consumer, messageId))) return { handled: false };',
    replace: 'await inbox.isNew(own, consumer, messageId);',
    killers,
  },
  {
    name: 'say that a message is handled in a transaction of the caller that is aborted',
    file: 'messaging/inbox.ts',
    find: 'await watch?.requireOpen(what, manager);',
    replace: '',
    killers,
  },
  {
    name: 'commit a message’s work whatever became of it, and say that it is handled',
    file: 'store/postgres/connection/transaction-watch.ts',
    find: 'await watch?.requireOpen(what, manager);',
    replace: '',
    killers: [specs('test/messaging/aborted-transactions')],
  },
  {
    name: 'start a saga beside the transaction that it is to be part of',
    file: 'engine/saga-engine.ts',
    find: 'this.store.startWithin(manager, { ...traced, leased: false }, this.lease);',
    replace: 'this.store.start([{ ...traced, leased: false }], this.lease).then(([result]) => result!);',
    killers,
  },
];
