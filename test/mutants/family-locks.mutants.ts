import { type Killer, type Mutant, simulation, specs, testsOf } from './mutant.js';

const LOCKS = 'a semantic lock that an ancestor holds|a deadlock of sagas that wait for locks';
const postgres: Killer[] = [testsOf('postgres-saga-store', LOCKS), specs('family-locks', 'lock-circles')];
const memory: Killer[] = [simulation(60), testsOf('memory-saga-store', LOCKS), simulation(400)];

/** Semantic locks of sagas and their sub-sagas: locks that are entered again, and circles of waits. */
export const FAMILY_LOCK_MUTANTS: readonly Mutant[] = [
  {
    name: 'let a sub-saga wait for the lock that its parent has entered again',
    in: 'family_locks',
    find: "up.lock_state IN ('held', 'inside')",
    replace: "up.lock_state = 'held'",
    killers: postgres,
  },
  {
    name: 'take a sub-saga for part of a family whose link to it was aborted or compensated',
    find: ":i.status NOT IN ('compensated', 'aborted')",
    replace: ":i.status <> ''",
    killers: postgres,
  },
  {
    name: 'let a sub-saga that enters the lock of its ancestor hold it alone',
    in: 'lock_enqueue',
    find: "lock_state = CASE WHEN is_inside THEN 'inside' ELSE 'held' END",
    replace: "lock_state = CASE WHEN is_inside THEN 'held' ELSE 'held' END",
    killers: postgres,
  },
  {
    name: 'leave a sub-saga waiting for the lock that its ancestor takes again to be undone',
    in: 'lock_enqueue',
    find: 'IF given.undone AND NOT is_inside THEN',
    replace: 'IF false THEN',
    killers: postgres,
  },
  {
    name: 'look for a circle at the holder of a lock only, not at those who have entered it',
    find: `SELECT h.id FROM saga.instance h
      WHERE h.name = :i.name AND h.lock_key = :i.lock_key AND h.lock_state = 'inside'`,
    replace: 'SELECT h.id FROM saga.instance h WHERE false',
    killers: postgres,
  },
  {
    name: 'look for a circle among the lock holders only, not among their sub-sagas',
    in: 'break_circle',
    find: 'SELECT c.id FROM saga.instance c WHERE c.parent_id = r.id AND :IS_LINKED(c)',
    replace: "SELECT c.id FROM saga.instance c WHERE c.parent_id = r.id AND c.lock_state = 'held'",
    killers: postgres,
  },
  {
    name: 'let an undone saga wait although those that it waits for cannot fail',
    in: 'break_circle',
    find: 'IF FOUND THEN RETURN circle; END IF;',
    replace: '',
    killers: postgres,
  },
  {
    name: 'let all sagas of a circle fail, not only those that wait for the family of the one that closes it',
    in: 'WAITERS_FOR_KIN',
    find: 'WHERE f.holder_name = i.name AND f.holder_key = i.lock_key)',
    replace: 'WHERE f.holder_name <> i.name OR f.holder_key = i.lock_key)',
    killers: postgres,
  },
  {
    name: 'leave a saga that is to fail for a circle without a due time',
    in: 'break_circle',
    find: 'lock_deadlock = :TOLD_OF(i),\n    :DUE_UNLESS_STOPPED(i)',
    replace: 'lock_deadlock = :TOLD_OF(i)',
    killers: postgres,
  },
  {
    name: 'let a sub-saga wait for the lock that its parent has entered again (in memory)',
    find: "return lock?.state === 'held' || lock?.state === 'inside';",
    replace: "return lock?.state === 'held';",
    killers: memory,
  },
  {
    name: 'let a sub-saga enter whatever lock of this key there is (in memory)',
    in: 'isSameLock',
    find: 'return a.saga.name === b.saga.name && a.lock?.key === b.lock?.key;',
    replace: 'return a.lock?.key === b.lock?.key;',
    killers: memory,
  },
  {
    name: 'look for a circle among the lock holders only, not among their sub-sagas (in memory)',
    find: 'for (const child of families.children(other)) reached.add(child);',
    replace: '',
    killers: memory,
  },
  {
    name: 'let an undone saga wait in a circle (in memory)',
    find: 'return waiting.every(mayFail) ? waiting.flatMap(told) : own;',
    replace: 'return [];',
    killers: memory,
  },
  {
    name: 'leave a sub-saga waiting for the lock that its ancestor takes again to be undone (in memory)',
    in: 'MemoryLockQueues.hold',
    find: "if (row.saga.state.status === 'running') return;",
    replace: "if (row.saga.state.status !== 'aborted') return;",
    killers: memory,
  },
  {
    name: 'wait for a saga that has to fail because of a deadlock (in memory)',
    in: 'MemoryLockQueues.fail',
    find: 'this.takeOut(row);',
    replace: '',
    killers: memory,
  },
];
