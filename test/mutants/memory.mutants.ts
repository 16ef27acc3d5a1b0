import { type Mutant, simulation, specs } from './mutant.js';

/** The same breaks as in PostgreSQL: the store that the simulation runs on, and applications' tests. */
const killers = [simulation(20), specs('memory-saga-store'), simulation(400)];

export const MEMORY_MUTANTS: readonly Mutant[] = [
  {
    name: 'count the leases of all keys for the limit of none (in memory)',
    find: 'return holders.filter((holder) => keyOf(holder) === keyOf(row)).length;',
    replace: 'return holders.filter((holder) => keyOf(holder) !== keyOf(row)).length;',
    killers,
  },
  {
    name: 'give the first key every turn (in memory)',
    find: 'if (limit.keyed) slots.lastKey = keyOf(row);',
    replace: '',
    killers: [specs('memory-saga-store')],
  },
  {
    name: 'store a saga that was to be rejected for its lock (in memory)',
    find: 'if (lockHolder !== undefined) return { created: false, lockHolder };',
    replace: '',
    killers: [specs('memory-saga-store')],
  },
  {
    name: 'drop the epoch check when a checkpoint is stored (in memory)',
    find: `if (row?.saga.epoch !== checkpoint.epoch) return 'fenced';`,
    replace: `if (!row) return 'fenced';`,
    killers,
  },
  {
    name: 'let a late checkpoint overwrite a later one (in memory)',
    find: `if (saga.checkpoints >= checkpoint.number) return 'saved';`,
    replace: '',
    killers,
  },
  {
    name: 'store a checkpoint that does not know of a cancellation (in memory)',
    find: `if (saga.cancelRequested && !checkpoint.cancelSeen) return 'cancelled';`,
    replace: '',
    killers,
  },
  {
    name: 'store a checkpoint that does not know of a pause (in memory)',
    find: `if (saga.pauseRequested && !checkpoint.pauseSeen) return 'cancelled';`,
    replace: '',
    killers,
  },
  {
    name: 'renew a lease without looking at its epoch (in memory)',
    find: 'if (row?.saga.epoch !== epoch || row.saga.lockedBy !== lease.worker) {',
    replace: 'if (!row) {',
    killers,
  },
  {
    name: 'claim sagas of versions that the worker does not have (in memory)',
    find: 'if (!sagas.some((saga) => saga.name === name && saga.version === version)) continue;',
    replace: 'if (!sagas.some((saga) => saga.name === name)) continue;',
    killers: [simulation(40), specs('memory-saga-store')],
  },
  {
    name: 'claim a saga whose lease has not run out (in memory)',
    find: '(dueAt <= now ? due : later).push(row);',
    replace: '(dueAt <= now || row.saga.lockedBy !== undefined ? due : later).push(row);',
    killers,
  },
  {
    name: 'claim without raising the epoch (in memory)',
    find: `saga.lockedBy = lease.worker;
      saga.epoch += 1;`,
    replace: 'saga.lockedBy = lease.worker;',
    killers,
  },
  {
    name: 'do not count takeovers (in memory)',
    find: 'saga.takeovers += 1;',
    replace: '',
    killers,
  },
  {
    name: 'do not count lost workers across checkpoints (in memory)',
    find: 'if (advances) saga.losses = 0;',
    replace: 'saga.losses = 0;',
    killers,
  },
  {
    name: 'let an operator change a saga without fencing off its worker (in memory)',
    find: `saga.checkpoints += 1;
    saga.epoch += 1;`,
    replace: 'saga.checkpoints += 1;',
    killers,
  },
  {
    name: 'give a lock to two (in memory)',
    find: 'if (this.first(row, now) === row) {',
    replace: 'if (row.lock.place > 0) {',
    killers,
  },
  {
    name: 'do not hand a lock on (in memory)',
    find: `if (next?.lock?.state !== 'waiting') return false;`,
    replace: `if (next?.lock?.state !== 'waiting' || next.lock.place > 0) return false;`,
    killers,
  },
  {
    name: 'let a sub-saga wait for the lock of its ancestor (in memory)',
    find: '.some((other) => hasLock(other) && isSameLock(other, row))',
    replace: '.some((other) => hasLock(other) && isSameLock(other, row) && other === row)',
    killers,
  },
  {
    name: 'close a circle of sagas that wait for locks (in memory)',
    find: 'if (kin.length === 0) return [];',
    replace: 'if (kin.length >= 0) return [];',
    killers,
  },
  {
    name: 'hand a lock on while sub-sagas run under it (in memory)',
    find: `const inside = queue.find(({ lock }) => lock!.state === 'inside');`,
    replace: `const inside = queue.find(({ lock }) => lock!.state === 'inside' && lock!.place < 0);`,
    killers,
  },
  {
    name: 'do not count leases for a limit (in memory)',
    find: 'slots.holders = [...slots.holders, row];',
    replace: 'slots.holders = [...slots.holders];',
    killers,
  },
  {
    name: 'start two sagas with one correlation id (in memory)',
    find: 'if (correlationId !== undefined) this.byCorrelation.set(correlationKey(name, correlationId), row);',
    replace: '',
    killers,
  },
  {
    name: 'do not wake a saga whose sub-saga has ended (in memory)',
    find: 'if (saga.parent && isTerminal(saga.state.status)) this.wake(saga.parent.id, now);',
    replace: '',
    killers,
  },
  {
    name: 'forget that a saga was woken while it was held (in memory)',
    find: 'const again = row.woken && isInProgress(row.saga.state.status);',
    replace: 'const again = row.woken && !isInProgress(row.saga.state.status);',
    killers,
  },
  {
    name: 'do not announce that a saga is settled which is waited for (in memory)',
    find: `if (watched && isSettled(saga.state.status)) this.wakeup.announce({ type: 'settled', id: saga.id });`,
    replace: 'void watched;',
    killers,
  },
  {
    name: 'give out times that break the rate limit (in memory)',
    find: 'return last && Math.max(last.at + per, time + Number.EPSILON * time);',
    replace:
      'return last && last.at > time ? Math.max(last.at + per, time + Number.EPSILON * time) : undefined;',
    killers,
  },
];
