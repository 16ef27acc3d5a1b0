import { type Mutant, specs, testsOf } from './mutant.js';

/** Mutants of the time before which nothing of a saga begins, in the machine and both stores. */
const NAMES = 'a new saga|a semantic lock|that is put back';
const machine = [specs('machine/turn'), specs('operate/start-times')];
const memory = [testsOf('memory-saga-store', NAMES)];
const postgres = [testsOf('postgres-saga-store', NAMES), specs('operate/start-times')];

export const START_TIME_MUTANTS: readonly Mutant[] = [
  {
    name: 'let a saga that is woken before its start time begin',
    find: "if (startTimeOf(state, now) !== undefined) return 'wait';",
    replace: '',
    killers: machine,
  },
  {
    name: 'forget the start time of a saga that is claimed before it',
    find: 'starts_at = CASE WHEN i.starts_at > :moment THEN i.starts_at END,',
    replace: 'starts_at = NULL,',
    killers: postgres,
  },
  {
    name: 'keep the start time of a saga that is claimed after it',
    find: 'starts_at = CASE WHEN i.starts_at > :moment THEN i.starts_at END,',
    replace: '',
    killers: postgres,
  },
  {
    name: 'give the lock to a saga that is claimed before its start time',
    find: 'IF given.starts_at IS NOT NULL OR NOT is_inside AND',
    replace: 'IF NOT is_inside AND',
    killers: postgres,
  },
  {
    name: 'put a saga back without its start time',
    find: 'starts_at = to_timestamp(:starts_at::float8 / 1000),',
    replace: '',
    killers: postgres,
  },
  {
    name: 'let a saga take its lock in memory before its start time',
    find: 'if (startsAt !== undefined) { row.saga.dueAt = startsAt; return false; }',
    replace: '',
    killers: memory,
  },
  {
    name: 'show the lock as what a saga waits for before its start time',
    find: "const until = state.status === 'running' ? startTimeOf(state, now) : undefined;",
    replace: 'const until = undefined;',
    killers: [specs('views/waiting-for')],
  },
];
