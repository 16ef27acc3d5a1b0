import { type Mutant, specs } from './mutant.js';

const killers = [specs('optional-steps'), specs('graph.properties')];

/** Breaks of `onFailure: 'continue'`. */
export const OPTIONAL_STEP_MUTANTS: readonly Mutant[] = [
  {
    name: 'roll back after the failure of an optional step',
    find: 'if (nodeOf(graph, name).optional) return continueWithout(state, name);',
    replace: 'void continueWithout;',
    killers,
  },
  {
    name: 'let items of an optional step that failed begin',
    find: '(known, _, index) => giveUp(known, itemKey(name, index))',
    replace: '(known) => known',
    killers,
  },
  {
    name: 'keep what waits for a failed optional step waiting',
    find: 'return isDone(step) || step.continued === true;',
    replace: 'return isDone(step);',
    killers,
  },
  {
    name: 'leave the effect of a failed optional step behind',
    find: 'if (isDropped(step)) { hasDropped = true; continue; }',
    replace: 'if (isDropped(step)) { hasDropped = step.pruned; continue; }',
    killers,
  },
  {
    name: 'retry an optional step that the saga has continued without',
    find: "if (state.heldPhase === 'running' && step.status === 'failed' && !isGone) {",
    replace: "if (state.heldPhase === 'running' && step.status === 'failed') {",
    killers,
  },
  {
    name: 'wait for a step that never wins the race, since it is optional and failed',
    find: "able.every((entry) => entry.status === 'skipped' || entry.continued === true)",
    replace: "able.every((entry) => entry.status === 'skipped')",
    killers,
  },
  {
    name: 'store nothing of a step that the saga continues without',
    find: 'continued: { stored: ({ continued }) => continued },',
    replace: 'continued: { stored: () => undefined },',
    killers: [specs('postgres-saga-store')],
  },
];
