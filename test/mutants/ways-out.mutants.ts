import { type Mutant, specs } from './mutant.js';

const killers = [specs('operate/ways-out')];

/** Breaks of the calls that lead out of a saga that hangs, and of a cancellation before a step. */
export const WAY_OUT_MUTANTS: readonly Mutant[] = [
  {
    name: 'try a failed compensation again only once the saga is stuck',
    find: 'return only === undefined ? step : tryAgain(graph, state, step, key);',
    replace: 'return step;',
    killers: [specs('machine.table')],
  },
  {
    name: 'take a failed compensation as done only once the saga is stuck',
    find: 'if (isInProgress(state.status)) return gaveUpUndoing ? compensated(graph, state, step) : state;',
    replace: 'if (isInProgress(state.status)) return state;',
    killers: [specs('machine.table')],
  },
  {
    name: 'cancel a saga whose step has begun, against unlessBegun',
    find: 'if (!isSkipped && hasBegun(recorded))',
    replace: 'if (isSkipped && hasBegun(recorded))',
    killers,
  },
  {
    name: 'cancel a saga whose worker may have begun the step, against unlessBegun',
    find: "if (mayRun.some(({ kind, node }) => kind === 'run' && node.name === step))",
    replace: 'if (mayRun.length < 0)',
    killers,
  },
  {
    name: 'end a saga with the call that cancels it, though a worker was lost that may have begun it',
    find: 'return state.steps.size > 0 || takeovers > 0;',
    replace: 'return state.steps.size > 0;',
    killers: [specs('waits-and-operators')],
  },
  {
    name: 'take the outcome of an abandoned attempt for known',
    find: "{ type: 'step-failed', kind: 'error', unknown: !leavesNothing(nodeOf(graph, key)), ...failed }",
    replace: "{ type: 'step-failed', kind: 'error', unknown: false, ...failed }",
    killers,
  },
  {
    name: 'forget the cancellation that waited for an abandoned attempt',
    find: `if (saga.cancelRequested)
    after.push({ type: 'cancelled', reason: saga.cancelRequested.reason, accepted: true, now });
  else if`,
    replace: 'if',
    killers: [specs('way-out-edits')],
  },
  {
    name: 'forget the pause that waited for an abandoned attempt',
    find: "else if (saga.pauseRequested) after.push({ type: 'paused' });",
    replace: '',
    killers,
  },
  {
    name: 'lose another at-most-once step with an abandoned attempt',
    find: 'if (lost.length > 0 && !force) {',
    replace: 'if (lost.length < 0 && !force) {',
    killers,
  },
  {
    name: 'leave a step that waits for its delay, or its signal, out of reach of resolve()',
    find: "if (step.status === 'waiting' && !awaitsChild(step) && !isDropped(stepState(live, stepOfKey(key))))",
    replace:
      "if (step.status !== 'waiting' && !awaitsChild(step) && !isDropped(stepState(live, stepOfKey(key))))",
    killers: [specs('operate/ways-out'), specs('way-out.properties')],
  },
  {
    name: 'skip the wait for a rate limit, or a delay, with retryNow()',
    find: "return status === 'compensating' || (status === 'waiting' && failures > 0);",
    replace: "return status === 'compensating' || status === 'waiting';",
    killers: [specs('way-out-edits'), specs('graph.properties')],
  },
  {
    name: 'give a compensation the time of its step',
    find: "return kind === 'compensate' ? (node.compensationTimeout ?? node.timeout) : node.timeout;",
    replace: 'return kind ? node.timeout : node.compensationTimeout;',
    killers: [specs('compensation-timeouts')],
  },
  {
    name: 'let the delay grow of a policy whose back-off is fixed',
    find: "if (policy.backoff === 'fixed') return Math.round(policy.delay * (1 - policy.jitter * random));",
    replace: '',
    killers: [specs('definition/options/retry-policy')],
  },
  {
    name: 'take no account of a back-off that is a function',
    find: 'Math.max(backoff ?? retryDelay(policy, failures, random), retryAfter)',
    replace: 'Math.max(retryDelay(policy, failures, random), retryAfter, backoff === undefined ? 0 : 1)',
    killers: [specs('compensation-timeouts')],
  },
];
