import { type Mutant, specs } from './mutant.js';

const killers = [specs('rollback/compensation-replies'), specs('graph.properties')];

/** Breaks of compensations that a participant confirms. */
export const COMPENSATION_REPLY_MUTANTS: readonly Mutant[] = [
  {
    name: 'take a compensation for done when it was requested',
    find: "return action.node.compensationReply === undefined\n      ? { type: 'compensation-completed', step }",
    replace: "return action.node !== undefined\n      ? { type: 'compensation-completed', step }",
    killers: [specs('rollback/compensation-replies')],
  },
  {
    name: 'compensate what comes before a compensation that is not confirmed',
    find: 'else plan.rest(step.wait!.until);\n  return false;',
    replace: 'else plan.rest(step.wait!.until);\n  return true;',
    killers,
  },
  {
    name: 'lose sight of a requested compensation when what depends on it is to be compensated',
    find: 'if (awaitsReply(step)) planReply(plan, node, step);',
    replace: '',
    killers: [specs('machine/waits')],
  },
  {
    name: 'wait for ever for the reply to a compensation',
    find: "if (isWaitOver(step, plan.now)) plan.add('miss-reply', node, step);",
    replace: "if (isWaitOver(step, -1)) plan.add('miss-reply', node, step);",
    killers,
  },
  {
    name: 'call a compensation again while its reply is awaited',
    find: 'if (awaitsReply(step)) return planReply(plan, node, step);',
    replace: '',
    killers,
  },
  {
    name: 'leave a reply that arrives while no worker has the saga where it is',
    in: 'signal',
    find: 'i.locked_by IS NULL AND i.status IN :IN_PROGRESS AS rests',
    replace: "i.locked_by IS NULL AND i.status = 'running' AS rests",
    killers: [specs('rollback/compensation-replies')],
  },
  {
    name: 'take one reply for two compensations',
    find: 'return compensated(graph, withTakenSignal(state, event.name, event.number), step);',
    replace: 'return compensated(graph, state, step);',
    killers: [specs('graph.properties')],
  },
  {
    name: 'keep the old time limit of a reply for the next attempt',
    find: "errors: withError(step, event.error, event.now, 'compensation'),\n    wait: undefined,\n    active: false",
    replace: "errors: withError(step, event.error, event.now, 'compensation'),\n    active: false",
    killers,
  },
  {
    name: 'accept a signal that two steps wait for as the reply to a compensation',
    find: 'wait?.signal === signal || (name !== node.name && compensationReply?.signal === signal)',
    replace: 'wait?.signal === signal && compensationReply?.signal === signal && name !== node.name',
    killers: [specs('check-step')],
  },
];
