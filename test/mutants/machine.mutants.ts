import { type Mutant, simulation, specs } from './mutant.js';

const killers = [
  simulation(20),
  specs('machine', 'graph.scenarios', 'machine/sub-sagas', 'decide', 'machine/pivots', 'fan-outs'),
  specs('graph.properties', 'graph.coverage'),
  simulation(400),
];

export const MACHINE_MUTANTS: readonly Mutant[] = [
  {
    name: 'compensate in forward order',
    find: `for (const node of [...graph.steps.values()].reverse()) {
    if (!concerned(node.name)) continue;
    if (!node.dependents.every(`,
    replace: `for (const node of graph.steps.values()) {
    if (!concerned(node.name)) continue;
    if (!node.after.every(`,
    killers,
  },
  {
    name: 'undo a step before those that depend on it',
    find: 'if (!node.dependents.every((name) => clear.has(name) || !concerned(name))) continue;',
    replace: '',
    killers,
  },
  {
    name: 'do not undo a step whose outcome is unknown',
    find: `(step.status === 'failed' && (step.unknown || node.compensateOnFailure))`,
    replace: `(step.status === 'failed' && node.compensateOnFailure)`,
    killers,
  },
  {
    name: 'undo a step that definitely failed',
    find: `(step.status === 'failed' && (step.unknown || node.compensateOnFailure))`,
    replace: `step.status === 'failed'`,
    killers,
  },
  {
    name: 'turn back behind the point of no return',
    find: 'return relationsOf(graph).pivots.some((name) => hasPassed(graph, state, name));',
    replace: 'return false;',
    killers,
  },
  {
    name: 'turn back past what may have been the point of no return',
    find: 'if (!mayHavePassed(graph.steps.get(name)!, stepState(next, name))) continue;',
    replace: 'continue;',
    killers,
  },
  {
    name: 'let a cancellation turn back what has passed its pivot',
    find: 'if (passed !== undefined) return accepted ? overtaken(state, failure, passed) : state;',
    replace: '',
    killers,
  },
  {
    name: 'roll back while a pivot is in progress',
    find: 'if (undecidedPivot(graph, state, rollbackTo) !== undefined) {',
    replace: 'if (false) {',
    killers,
  },
  {
    name: 'roll back though the pivot completed that was waited for',
    find: 'if (passed !== undefined) {',
    replace: 'if (passed !== undefined && graph.steps.size < 0) {',
    killers,
  },
  {
    name: 'forget a rollback that waited for a pivot which failed',
    find: '? startTurningBack(graph, next, failure)',
    replace: '? next',
    killers,
  },
  {
    name: 'forget a cancellation that came while a pivot was in progress and then completed',
    in: 'decidePending',
    find: 'const next = isFailure ? state : overtaken(state, failure, passed);',
    replace: 'const next = state;',
    killers: [...killers, specs('rollback/pivots')],
  },
  {
    name: 'keep a rollback pending after the pivot that it waited for has completed',
    in: 'decidePending',
    find: 'return withFailures(graph, withoutPending(next), failure);',
    replace: 'return withFailures(graph, next, failure);',
    killers,
  },
  {
    name: 'roll back before the last of several pivots in progress has ended',
    in: 'decidePending',
    find: 'if (undecidedPivot(graph, state, rollbackTo) !== undefined) return state;',
    replace: '',
    killers,
  },
  {
    name: 'forget what failed while a rollback waited for a pivot that completed',
    in: 'decidePending',
    find: 'return withFailures(graph, withoutPending(next), failure);',
    replace: 'return withoutPending(next);',
    killers,
  },
  {
    name: 'begin other steps while a rollback waits for a pivot',
    find: 'const halted = pending || isHalted(graph, state);',
    replace: 'const halted = isHalted(graph, state);',
    killers,
  },
  {
    name: 'take a pivot whose attempt was lost for one that failed',
    find: "return unknown && (status === 'pending' || status === 'waiting') && !canBeUndone(node);",
    replace: 'return false;',
    killers,
  },
  {
    name: 'compensate before an operator has said what became of a pivot',
    find: 'if (relationsOf(graph).pivots.some((name) => undone(name) && isBarred(graph, state, name)))',
    replace: 'if (false)',
    killers,
  },
  {
    name: 'leave no way forward from a pivot that may have completed',
    find: 'if (barred.length > 0 && (step === undefined || barred.includes(step))) return forwardAgain(graph, state);',
    replace: '',
    killers,
  },
  {
    name: 'retry without a bound',
    find: 'return retryable && failures < policy.attempts;',
    replace: 'return retryable;',
    killers,
  },
  {
    name: 'retry what will not help',
    find: 'return retryable && failures < policy.attempts;',
    replace: 'return failures < policy.attempts;',
    killers,
  },
  {
    name: 'retry without waiting',
    find: 'retryAt: again ? now + retryDelay(retry, failures, event.random) : undefined,',
    replace: 'retryAt: again ? now : undefined,',
    killers,
  },
  {
    name: 'retry an at-most-once step whose outcome is unknown',
    find: `mayRetry(retry, failures, event.retryable) &&
    (idempotent || !event.unknown);`,
    replace: 'mayRetry(retry, failures, event.retryable);',
    killers,
  },
  {
    name: 'run an interrupted at-most-once step again',
    find: 'if (!node.idempotent) {',
    replace: 'if (!node.idempotent && node.probe !== undefined) {',
    killers,
  },
  {
    name: 'forget that an earlier attempt may have taken effect',
    find: 'unknown: before.unknown || event.unknown,',
    replace: 'unknown: event.unknown,',
    killers,
  },
  {
    name: 'take what a lost worker was at for not begun',
    find: 'unknown: s.unknown || !leavesNothing(node),',
    replace: 'unknown: s.unknown,',
    killers,
  },
  {
    name: 'do not count an attempt that was lost with its worker',
    find: `attempts: s.attempts + (s.status === 'running' ? 0 : 1),`,
    replace: 'attempts: s.attempts,',
    killers,
  },
  {
    name: 'let a saga take down worker after worker',
    find: 'if (losses <= bound) return next;',
    replace: 'return next;',
    killers,
  },
  {
    name: 'let those go on that lost a race',
    find: 'return next === state ? state : pruneLosers(graph, next);',
    replace: 'return next;',
    killers,
  },
  {
    name: 'complete before what lost a race is undone',
    find: 'const clear = !hasPruned || isClear(planUndoing(plan, graph, state, isPruned(state)), graph, isPruned(state));',
    replace: 'const clear = !hasPruned || planUndoing(plan, graph, state, isPruned(state)).size >= 0;',
    killers,
  },
  {
    name: 'complete a fan-out with the first of its items',
    find: '&& open.every(',
    replace: '&& open.some(',
    killers,
  },
  {
    name: 'undo a fan-out only in its first item',
    find: '.standing.every(isUndone)',
    replace: '.standing.some(isUndone)',
    killers,
  },
  {
    name: 'run more items at once than the concurrency of their fan-out',
    find: 'if (room <= 0) return;',
    replace: '',
    killers,
  },
  {
    name: 'go forward from a savepoint in the round before',
    find: 'const round = state.round + 1;',
    replace: 'const round = state.round;',
    killers,
  },
  {
    name: 'go back to a savepoint without a bound',
    find: 'returns >= attempts - 1',
    replace: 'returns >= attempts * 1_000',
    killers,
  },
  {
    name: 'begin a step once one of those that it waits for is done',
    find: 'if (!isRace(node)) return node.after.every((name) => isDone(stepState(state, name)));',
    replace: `if (!isRace(node))
    return node.after.length === 0 || node.after.some((name) => isDone(stepState(state, name)));`,
    killers,
  },
  {
    name: 'begin further steps after one gave up for an operator',
    find: 'if (!halted && isReady(state, node, step)) planStep',
    replace: 'if (isReady(state, node, step)) planStep',
    killers,
  },
  {
    name: 'pay no heed to the deadline',
    find: 'if (left && !halted && state.deadline !== undefined',
    replace: 'if (left && halted && state.deadline !== undefined',
    killers,
  },
  {
    name: 'change a saga that has come to its end',
    find: `if (isTerminal(state.status) && event.type !== 'undone') return state;`,
    replace: '',
    killers,
  },
  {
    name: 'take in what ends when its step has settled already',
    find: 'return step.active && step.status === status;',
    replace: 'return true;',
    killers,
  },
  {
    name: 'go on with a saga that was cancelled',
    find: `return mayTurnBack ? startTurningBack(graph, withoutRetries(graph, state), failure) : state;`,
    replace: `return mayTurnBack && reason === '' ? startTurningBack(graph, state, failure) : state;`,
    killers,
  },
  {
    name: 'take a compensation that gave up for done',
    find: `: { ...failed, status: 'compensation_failed' };`,
    replace: `: { ...failed, status: 'compensated' };`,
    killers,
  },
  {
    name: 'leave a sub-saga going when its step is not wanted any more',
    find: `if (step.child!.phase === 'running') plan.add('cancel-child', node, step, index);`,
    replace: '',
    killers,
  },
  {
    name: 'leave a sub-saga as it is when its step is undone',
    find: `(step.child?.phase === 'ended' || node.compensate !== undefined)`,
    replace: 'node.compensate !== undefined',
    killers,
  },
  {
    name: 'take the end of a sub-saga of an earlier round for that of the one now',
    find: '|| step.child!.id !== event.child) return state;',
    replace: ') return state;',
    killers,
  },
  {
    name: 'copy the states of all items for each event of one',
    find: 'if (steps.size < SMALL) return',
    replace: 'if (steps.size < Infinity) return',
    killers: [specs('fan-out-work')],
  },
  {
    name: 'forget the items that others have passed',
    find: 'open: merged(merged(known.open, more), passed),',
    replace: 'open: merged(known.open, more),',
    killers: [specs('step-map')],
  },
  {
    name: 'run over as many items as there are',
    find: 'if (items.length <= MOST_ITEMS) return items;',
    replace: 'return items;',
    killers: [specs('fan-out')],
  },
];
