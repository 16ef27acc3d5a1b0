import { type Mutant, specs } from './mutant.js';
import { contract } from './store-contract.js';

export const STORED_STEP_MUTANTS: readonly Mutant[] = [
  {
    name: 'take errors that differ for the same when they are stored',
    find: 'return (before && isSameError(error, before) && repeatOf(error)) || attemptToJson(error);',
    replace: 'return (before && repeatOf(error)) || attemptToJson(error);',
    killers: [specs('errors-json')],
  },
  {
    name: 'take each stack for one of calls only when it is stored',
    find: 'return lines.every((line) => line.startsWith(LINE))',
    replace: 'return lines.length > 0',
    killers: [specs('errors-json')],
  },
  {
    name: 'store no attempt as one of a compensation',
    find: "const inRow = during === 'step' ? undefined : during;",
    replace: 'const inRow = undefined;',
    killers: [specs('errors-json')],
  },
  {
    name: 'read the rows of steps without the notes',
    find: 'return note ? withNote(state, note) : state;',
    replace: 'return state;',
    killers: contract('the notes of a saga'),
  },
  {
    name: 'forget the notes at an operator’s change',
    find: 'notes: withoutNotes(saga.notes, changed),\n    failedAttempt',
    replace: 'failedAttempt',
    killers: contract('the notes of a saga'),
  },
];
