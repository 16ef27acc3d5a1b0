import { type Mutant, simulation, specs } from './mutant.js';

const killers = [specs('waiting/quorum')];

/** Breaks of approvals that several operators have to give. */
export const QUORUM_MUTANTS: readonly Mutant[] = [
  {
    name: 'go on with the first approval of a quorum',
    find: 'if (isShared && countedWith(saga, step, decision, quorum) < quorum) return { proposal: true };',
    replace: '',
    killers: [...killers, simulation(20)],
  },
  {
    name: 'count the approvals of one operator for a quorum twice',
    find: 'if (!before.some((one) => one.by === by)) return before.length + 1;',
    replace: 'if (before.length < quorum) return before.length + 1;',
    killers,
  },
  {
    name: 'keep an approval of a quorum as a decision',
    find: "const proposed = 'proposal' in edit;",
    replace: 'const proposed = false;',
    killers,
  },
  {
    name: 'ask several operators for a rejection',
    find: 'const isShared = decision.approved && quorum > 1;',
    replace: 'const isShared = quorum > 1;',
    killers,
  },
  {
    name: 'forget the quorum where the saga is not known',
    find: 'const { quorum = 1 } = wait ?? graph?.steps.get(step)?.wait ?? {};',
    replace: 'const { quorum = 1 } = graph?.steps.get(step)?.wait ?? {};',
    killers,
  },
  {
    name: 'let a deploy raise the quorum of a wait that has begun',
    find: 'const { quorum = 1 } = wait ?? graph?.steps.get(step)?.wait ?? {};',
    replace: 'const quorum = wait?.quorum ?? graph?.steps.get(step)?.wait?.quorum ?? 1;',
    killers,
  },
  {
    name: 'forget an approval of a quorum after 20 other operations',
    find: "AND (p.revision = ${i}.checkpoints OR p.action = 'approve' AND NOT EXISTS (",
    replace: 'AND (p.revision = ${i}.checkpoints AND NOT EXISTS (',
    killers,
  },
  {
    name: 'load approvals of a step that was decided since',
    find: 'operations.some((one, n) => n > from && !one.proposed && one.step === step && isDecision(one))',
    replace: 'operations.length < 0',
    killers: [specs('memory-saga-store')],
  },
  {
    name: 'resolve an approval that is not decided as any other step',
    find: "action !== 'resolve' || !awaitsDecision(saga, graph, step!)",
    replace: "action !== 'approve' || !awaitsDecision(saga, graph, step!)",
    killers: [specs('operate/second-person')],
  },
  {
    name: 'let an operator complete an approval that was not given',
    find: "return graph ? graph.steps.get(step)?.kind !== 'approval' : graphUnknownHere(saga) !== undefined;",
    replace: 'return graph !== undefined || graphUnknownHere(saga) !== undefined;',
    killers: [specs('approvals-and-operators')],
  },
  {
    name: 'let an operator resolve what may be an approval where the saga is not known',
    find: "return graph ? graph.steps.get(step)?.kind !== 'approval' : graphUnknownHere(saga) !== undefined;",
    replace: "return graph?.steps.get(step)?.kind !== 'approval';",
    killers: [specs('approvals-and-operators')],
  },
  {
    name: 'retry with another input by the rule of any retry',
    find: 'rules.approvals[rule as ApprovalRule]',
    replace: 'rules.approvals[action as ApprovalRule]',
    killers: [specs('second-person')],
  },
];
