import { type Mutant, specs, testsOf } from './mutant.js';
import { contract } from './store-contract.js';

const killers = [specs('decide-put-back')];
const window = [specs('recent-sagas')];
const forgetting = [specs('forgetting')];
const severalHosts = [testsOf('chaos/several-hosts', 'attributes')];

export const FAILOVER_MUTANTS: readonly Mutant[] = [
  {
    name: 'take the first host of a connection string, whatever its attributes',
    find: 'if (IS_WANTED[attributes](rows[0]!)) return { host, port };',
    replace: 'return { host, port };',
    killers: severalHosts,
  },
  {
    name: 'report that no host has the attributes as an error that does not pass',
    find: "return Object.assign(new Error(message), { code: '25006' });",
    replace: 'return new Error(message);',
    killers: severalHosts,
  },
  {
    name: 'put back over what another worker has claimed since',
    find: 'if (row.epoch === made.epoch) return row.lockedBy === lease.worker;',
    replace: 'if (row.epoch === made.epoch) return true;',
    killers,
  },
  {
    name: 'put back over a saga that was claimed as often since',
    find: 'return row.updatedAt <= claimed.updatedAt && (row.leasedAt ?? -Infinity) <= (claimed.leasedAt ?? -Infinity);',
    replace: 'return row.updatedAt < Infinity;',
    killers,
  },
  {
    name: 'put back a step whose transaction was lost',
    find: 'return first === -1 ? lost : lost.slice(0, first);',
    replace: 'return lost;',
    killers,
  },
  {
    name: 'put back the messages of the last checkpoint only',
    find: 'const messages = lost.flatMap(({ messages }) => messages ?? []);',
    replace: 'const messages = lost.at(-1)!.messages ?? [];',
    killers,
  },
  {
    name: 'count another signal as one that was taken',
    find: 'if (!isUntouched(after, newest) || hasOtherSignals(after, newest))',
    replace: 'if (!isUntouched(after, newest))',
    killers,
  },
  {
    name: 'keep the lease of a saga that waits for its lock',
    find: 'if (runsUnder === undefined || (row.lock && !row.lock.held)) return false;',
    replace: 'if (runsUnder === undefined) return false;',
    killers,
  },
  {
    name: 'start a delayed saga anew after its whole delay',
    find: 'const startAt = saga.startAt ?? (delay === undefined ? undefined : at + delay);',
    replace: 'const startAt = saga.startAt;',
    killers,
  },
  {
    name: 'keep what is older than the recovery window',
    find: 'if (!entry.isForgotten && entry.queuedAt >= oldest && this.bytes',
    replace: 'if (!entry.isForgotten && this.bytes',
    killers: window,
  },
  {
    name: 'keep more than the bytes of the recovery window',
    find: 'if (!entry.isForgotten && entry.queuedAt >= oldest && this.bytes <= this.bounds.bytes) break;',
    replace: 'if (!entry.isForgotten && entry.queuedAt >= oldest) break;',
    killers: window,
  },
  {
    name: 'hold what has left a queue',
    find: 'this.items[this.head] = undefined;',
    replace: '',
    killers: window,
  },
  {
    name: 'count no errors among what is kept of a saga',
    find: 'for (const error of errors) size += sizeOfError(error);',
    replace: '',
    killers: window,
  },
  {
    name: 'put nothing back after a failover',
    find: 'if (this.ports.store.lastFailoverAt === this.handled) return undefined;',
    replace: 'return undefined;',
    killers: forgetting,
  },
  {
    name: 'start a saga again that was deleted',
    find: 'const missing = known.filter(({ id }) => !stored.has(id));',
    replace: 'const missing = known.filter(({ id }) => (stored.get(id)?.epoch ?? Infinity) > 2_000_000_000);',
    killers: forgetting,
  },
  {
    name: 'keep no record of sagas that were deleted',
    find: 'WHERE i.id = ANY(family) AND i.finished_at > now() - :KNOWN_FOR ON CONFLICT (id) DO UPDATE SET at = now();',
    replace: 'WHERE false;',
    killers: contract('counts as further|that was deleted'),
  },
  {
    name: 'repeat a start whose saga was deleted since',
    find: 'const left = batch.filter(({ id, fresh }) => !fresh || !deleted.has(id));',
    replace: 'const left = batch;',
    killers: [specs('deleted-sagas')],
  },
  {
    name: 'start a saga again whose end was reported',
    find: 'if (entry && !entry.last) this.forget(entry);',
    replace: '',
    killers: [specs('deleted-sagas')],
  },
];
