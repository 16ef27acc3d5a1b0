import { type Mutant, simulation, specs } from './mutant.js';

const killers = [simulation(60)];
const contract = [specs('message-store')];
const order = [specs('message-store', 'messaging/relay-order'), specs('order-of-transactions')];

/** Mutants of the relay, the inbox and starts in transactions of the caller. */
export const MESSAGING_MUTANTS: readonly Mutant[] = [
  {
    name: 'read a lane on from where it was read to, in the model',
    find: 'return Math.min(readTo, Math.max(0, ...marks.filter(({ xid }) => xid < ended).map(({ seq }) => seq)));',
    replace: 'return ended > 0 && marks.length > 0 && this.now - readFromStartAt < 1_000 ? readTo : 0;',
    killers,
  },
  {
    name: 'read a lane on from where it was read to',
    find: 'CASE WHEN :l.leased_by IS NOT NULL OR',
    replace: 'CASE WHEN :l.leased_by IS NULL THEN :l.read_to WHEN :l.leased_by IS NOT NULL OR',
    killers: contract,
  },
  {
    name: 'read a page that begins nearby from where the lane was read to',
    in: 'READ_FROM',
    find: 'THEN least(:l.read_to, :l.safe_from)',
    replace: 'THEN :l.read_to',
    killers: order,
  },
  {
    name: 'take what open transactions may still publish for read',
    in: 'SAFE_FROM',
    find: 'WHERE m.xid < pg_snapshot_xmin(pg_current_snapshot())',
    replace: 'WHERE m.xid < pg_snapshot_xmax(pg_current_snapshot())',
    killers: order,
  },
  {
    name: 'look for the newest transaction that has ended, not for the oldest',
    in: 'READ_FROM',
    find: '(SELECT pg_current_snapshot())) ORDER BY x.xid LIMIT 1)',
    replace: '(SELECT pg_current_snapshot())) ORDER BY x.xid DESC LIMIT 1)',
    killers: order,
  },
  {
    name: 'never read a lane from its beginning again',
    in: 'READ_FROM',
    find: 'OR :l.read_from_start_at <= now() - :FROM_START THEN 0',
    replace: "OR :l.read_from_start_at <= '-infinity' THEN 0",
    killers: order,
  },
  {
    name: 'drop the oldest mark of a lane, which is still of use',
    in: 'MARKS',
    find: 'AND (m.place = 1 OR m.place > m.size - :NEWEST_MARKS)',
    replace: 'AND m.place > m.size - :NEWEST_MARKS',
    killers: order,
  },
  {
    name: 'forget that a lane holds messages from now on',
    find: "may_hold = l.may_hold OR $2 <> '{}' OR $6 <> '{}',",
    replace: '',
    killers: contract,
  },
  {
    name: 'forget that a lane holds messages once it is read from its beginning',
    find: 'may_hold = l.may_hold AND (p.after > 0 OR EXISTS',
    replace: 'may_hold = l.may_hold AND (p.after > 0 AND EXISTS',
    killers: contract,
  },
  {
    name: 'hold messages behind one that another relay has sent meanwhile',
    in: 'outbox_settle',
    find: 'SELECT DISTINCT b.lane, b.topic, b.key FROM behind b',
    replace: 'SELECT DISTINCT b.lane, b.topic, b.key FROM behind b WHERE false',
    killers: contract,
  },
  {
    name: 'delete a message that failed for another relay, and let none behind it go',
    in: 'outbox_settle',
    find: 'WHERE d.attempts > 0 OR d.held',
    replace: 'WHERE d.attempts > 0',
    killers: contract,
  },
  {
    name: 'take what a relay reports of a lane that it has lost',
    find: 'SELECT array_agg(p.lane) FILTER (WHERE p.mine) INTO mine FROM (',
    replace: 'SELECT array_agg(p.lane) INTO mine FROM (',
    killers: contract,
  },
  {
    name: 'send what comes behind a message that failed',
    find: 'return void report.behind.push(...line.slice(n + 1));',
    replace: 'continue;',
    killers,
  },
  {
    name: 'send messages of a key side by side',
    find: 'const name = `${message.topic}\\0${message.key}`;',
    replace: 'const name = message.id;',
    killers,
  },
  {
    name: 'take a message for sent that the broker has not confirmed',
    find: 'fail(message, asError(error));',
    replace: 'fail(message, asError(error));\n        report.sent.push(message);',
    killers,
  },
  {
    name: 'forget that messages of a lane were left unsent',
    find: 'if (!settled.has(message)) unfinished.add(message.lane);',
    replace: 'if (settled.has(message)) unfinished.add(message.lane);',
    killers,
  },
  {
    name: 'handle a message that was handled before',
    find: 'if (!(await inbox.isNew(joined, consumer, messageId))) return { handled: false };',
    replace: 'await inbox.isNew(joined, consumer, messageId);',
    killers,
  },
  {
    name: 'say that a message is handled in a transaction of the caller that is aborted',
    in: 'Inbox.handleOnce',
    find: 'await watch?.requireOpen(what, joined);',
    replace: '',
    killers,
  },
  {
    name: 'commit a message’s work whatever became of it, and say that it is handled',
    in: 'committed',
    find: 'await watch?.requireOpen(what, joined);',
    replace: '',
    killers: [specs('messaging/aborted-transactions')],
  },
  {
    name: 'start a saga beside the transaction that it is to be part of',
    find: 'this.store.startWithin(transaction, { ...traced, leased: false }, this.parts.lease);',
    replace:
      'this.store.start([{ ...traced, leased: false }], this.parts.lease).then(([result]) => result!);',
    killers,
  },
  {
    name: 'let a relay wait for its own leases after an answer was lost',
    find: 'if (this.answerLost && this.taking === 0) await this.giveBack();',
    replace: '',
    killers: [specs('messaging/lost-answers')],
  },
  {
    name: 'let messages of JetStream overtake one that is to be redelivered',
    find: 'const max_ack_pending = messagesAtOnce === 1 ? 1 : PENDING;',
    replace: 'const max_ack_pending = messagesAtOnce === 0 ? 1 : PENDING;',
    killers: [specs('messaging/brokers')],
  },
  {
    name: 'redeliver messages of JetStream after the time of the server, and not of their handler',
    find: 'handlersDelays.set(native, redeliverAfter);',
    replace: '',
    killers: [specs('messaging/brokers')],
  },
];
