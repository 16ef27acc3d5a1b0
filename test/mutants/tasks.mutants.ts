import { type Mutant, simulation, specs, testsOf } from './mutant.js';

const postgres = [testsOf('postgres-saga-store', 'the tasks of a store')];

/** Breaks of the list of what waits for a decision. */
export const TASK_MUTANTS: readonly Mutant[] = [
  {
    name: 'record no approval that begins or ends to wait',
    find: 'if (this.hasApprovals) made.openApprovals = openApprovalsAfter(saved, state);',
    replace: '',
    killers: [simulation(20)],
  },
  {
    name: 'keep a task until the saga takes the decision',
    find: 'if (step !== undefined) await on.query(...on.sql.endTask({ id: saga.id, step }));',
    replace: '',
    killers: postgres,
  },
  {
    name: 'list an approval whose decision came first',
    in: 'tasks',
    find: 'WHERE i.id = ANY(saved) AND NOT EXISTS (SELECT FROM',
    replace: 'WHERE i.id = ANY(saved) OR NOT EXISTS (SELECT FROM',
    killers: postgres,
  },
  {
    name: 'list the tasks of a paused saga',
    find: "if (status !== 'running') return open;",
    replace: '',
    killers: [specs('machine/open-approvals'), specs('operate/tasks')],
  },
  {
    name: 'leave the tasks of a new state as they were after an operator’s change',
    find: 'openApprovals: openApprovalsAfter(saga.state, edit.state),',
    replace: '',
    killers: postgres,
  },
  {
    name: 'put a state back without its tasks',
    find: 'openApprovals: openApprovals(state),',
    replace: '',
    in: 'wholeOf',
    killers: [specs('decide-put-back')],
  },
];
