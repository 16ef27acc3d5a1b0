import type { SagaGraph, StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { decide } from '../../libs/saga/src/machine/decide.js';
import type { Action } from '../../libs/saga/src/machine/plan.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';

export const STARTED = {
  run: 'step-started',
  compensate: 'compensation-started',
  probe: 'probe-started',
} as const;

/** What `when` and `forEach` make of a step that is about to begin; undefined: its method is called. */
export function answerOf(
  { kind, node, key, index }: Action,
  state: SagaState,
): ((now: number) => SagaEvent[]) | undefined {
  const { status, attempts } = stepState(state, key);
  const isFirst = status === 'pending' || (status === 'waiting' && attempts === 0);
  const asks = kind === 'await' || kind === 'expand' || (kind === 'run' && node.wait === undefined);
  if (!asks || index !== undefined || !isFirst) return undefined;
  const context = { round: stepState(state, node.name).round } as never;
  try {
    if (node.delayOf && status === 'pending' && attempts === 0)
      return (now) => [{ type: 'delay-started', step: key, until: now + delayOf(node) }];
    if (node.when && !node.when(context)) return () => [{ type: 'condition-false', step: key }];
    if (kind === 'await') return (now) => [waitStarted(node, key, now)];
    const items = node.forEach?.(context).map((item) => JSON.stringify(item));
    return items && (() => [{ type: 'fan-out-started', step: key, items }]);
  } catch (thrown) {
    const error = { name: 'Error', message: (thrown as Error).message };
    const failed = { kind: 'error', unknown: false, retryable: false, random: 0 } as const;
    return (now) => [
      { type: 'step-started', step: key },
      { type: 'step-failed', step: key, error, now, ...failed },
    ];
  }
}

/** What the function of a random graph returns, in milliseconds. */
export function delayOf(node: StepNode): number {
  return node.delayOf!({} as never) as number;
}

export function waitStarted({ wait }: StepNode, step: string, now: number): SagaEvent {
  const timeout = wait!.timeoutOf?.({} as never) as number | undefined;
  return { type: 'wait-started', step, now, ...(timeout !== undefined && { until: now + timeout }) };
}

/** Those of a fan-out's items that could be next if there were room for all. */
export function itemsThatMayBegin(graph: SagaGraph, state: SagaState, node: StepNode): Action[] {
  const wide = { ...node, itemsAtOnce: Infinity };
  const widened = { ...graph, steps: new Map(graph.steps).set(node.name, wide) };
  return decide(widened, state, Infinity).actions.filter((action) => action.node === wide);
}
