import { type Mutant, testsOf } from './mutant.js';

/** Mutants of the filters of lists. */
const postgres = [testsOf('postgres-saga-store', 'a list of sagas')];
const memory = [testsOf('memory-saga-store', 'a list of sagas')];

export const FINDING_MUTANTS: readonly Mutant[] = [
  {
    name: 'find a step by a part of what the row shows',
    find: "= ANY(string_to_array(i.step, ', '))",
    replace: '<= i.step',
    killers: postgres,
  },
  {
    name: 'take a saga that ended in time for overdue',
    find: 'i.sla_at <= COALESCE(i.finished_at, now())',
    replace: 'i.sla_at <= now()',
    killers: postgres,
  },
  {
    name: 'find an error code in the failure only',
    find: 'return [...steps.values()].some(({ errors }) => errors.some((error) => error.code === code));',
    replace: 'return steps.has(code);',
    killers: memory,
  },
];
