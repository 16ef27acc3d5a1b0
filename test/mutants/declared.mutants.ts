import { type Mutant, specs } from './mutant.js';

/** Declared sagas and their daemon. */
export const DECLARED_MUTANTS: readonly Mutant[] = [
  {
    name: 'fail what was asked together with an expression that takes all its time',
    find: "if (tasks.length === 1 && (only!.isSuspect || failure.kind === 'late')) only!.reject(failure);",
    replace: 'if (tasks.length >= 1) tasks.forEach((task) => task.reject(failure));',
    killers: [specs('declared/expression/evaluator')],
  },
  {
    name: 'wait for an expression as long as it takes',
    find: 'if (left === 0) resolve(late);',
    replace: 'void late;',
    killers: [specs('declared/expression/evaluator')],
  },
  {
    name: 'start a step before its condition has an answer',
    find: 'if (answer instanceof Promise) return true;',
    replace: 'if (answer instanceof Promise) return false;',
    killers: [specs('engine/run/later-answers')],
  },
  {
    name: 'count a request whose client has disconnected while a reload held it back',
    find: 'if (response.closed) return;',
    replace: '',
    in: 'Front.pass',
    killers: [specs('daemon/http/front')],
  },
  {
    name: 'let a reload wait for a body that does not come',
    find: 'if (!request.complete) request.destroy();',
    replace: 'void request;',
    killers: [specs('daemon/http/front')],
  },
];
