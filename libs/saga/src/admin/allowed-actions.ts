import { handlerOf } from '../definition/options/handler-name.js';
import { type SagaGraph } from '../definition/graph/saga-graph.js';
import { APPROVAL_PREFIX } from '../definition/options/signal-name.js';
import { isTerminal } from '../machine/saga-state.js';
import type { SagaSnapshot } from '../nest/views/saga-snapshot.js';
import type { OperatorAction } from './admin.options.js';

/** Something that a saga's state lets an operator do. Whether it still does when it is done, the call itself says. */
export interface AllowedAction {
  readonly kind: OperatorAction;
  /** The steps that it can be done to, where it is done to one. */
  readonly steps?: readonly string[];
  /** The names that can be sent. */
  readonly signals?: readonly string[];
}

/** @param graph undefined: this process does not have the saga */
export function allowedActions(saga: SagaSnapshot, graph: SagaGraph | undefined): AllowedAction[] {
  const { status } = saga;
  const held = status === 'stuck' || status === 'suspended';
  const open = !isTerminal(status);
  const turnsBack = saga.steps.some(({ status: step }) => step.startsWith('compensat'));
  const forward = status === 'running' || status === 'suspended' || status === 'paused' || status === 'stuck';
  const gaveUp = held && saga.waitingFor?.kind === 'person' ? saga.waitingFor.steps : [];
  const approvals = open ? awaited(saga, graph, 'approval') : [];
  const signals = open ? signalsOf(graph) : [];
  const actions: (AllowedAction | false)[] = [
    held && { kind: 'retry', ...(gaveUp.length > 0 && { steps: gaveUp }) },
    gaveUp.length > 0 && { kind: 'skip', steps: gaveUp },
    approvals.length > 0 && { kind: 'approve', steps: approvals },
    approvals.length > 0 && { kind: 'reject', steps: approvals },
    status === 'paused' && { kind: 'resume' },
    (status === 'running' || status === 'compensating') && { kind: 'pause' },
    signals.length > 0 && { kind: 'signal', signals },
    forward && !turnsBack && !pivotPassed(saga, graph) && { kind: 'cancel' },
    status === 'completed' && graph !== undefined && !pivotPassed(saga, graph) && { kind: 'undo' },
    open && { kind: 'abort' },
  ];
  return actions.filter((action) => action !== false);
}

/** Steps of this kind that wait right now. */
function awaited(saga: SagaSnapshot, graph: SagaGraph | undefined, kind: 'approval'): string[] {
  const waiting = saga.steps.filter(({ name, status }) => {
    return status === 'waiting' && graph?.steps.get(name)?.kind === kind;
  });
  const told = saga.waitingFor?.kind === kind ? [saga.waitingFor.step] : [];
  return [...new Set([...told, ...waiting.map(({ name }) => name)])];
}

function signalsOf(graph: SagaGraph | undefined): string[] {
  if (!graph || handlerOf(graph.name) !== undefined) return [];
  const names = [...graph.steps.values()].flatMap(({ wait }) => (wait ? [wait.signal] : []));
  return [...new Set(names)].filter((name) => !name.startsWith(APPROVAL_PREFIX));
}

function pivotPassed(saga: SagaSnapshot, graph: SagaGraph | undefined): boolean {
  return saga.steps.some(
    ({ name, status }) => status === 'completed' && graph?.steps.get(name)?.pivot === true,
  );
}
