import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { Action, MachineDecision } from '../../libs/saga/src/machine/plan.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import type { Attempt } from './model-entries.js';
import type { Move } from './random-graph.js';

/** The attempt is a request to another saga. */
export function isAsking({ kind }: Attempt): boolean {
  return kind === 'cancel-child' || kind === 'undo-child';
}

/** A transaction is committed with its checkpoint, or it is gone; a saga is stored with it, or never was. */
export function leavesNothing({ kind, node }: Attempt): boolean {
  return node.transactional || (node.kind === 'sub-saga' && kind === 'run');
}

/** The condition of the step is evaluated before the action: again for attempts that were lost, not for retries. */
export function isUnasked(state: SagaState, { kind, node, key }: Action): boolean {
  // What waits was asked before it did.
  if (kind === 'await') return true;
  if (node.wait !== undefined || (kind !== 'run' && kind !== 'expand')) return false;
  const { status, failures } = stepState(state, key);
  return status === 'pending' || (status === 'waiting' && failures === 0);
}

export function askWhen(node: StepNode, round: number): boolean | 'throws' {
  try {
    return node.when?.({ round } as never) ?? true;
  } catch {
    return 'throws';
  }
}

/** The event of an attempt that failed. `unknown`: it may have taken effect. */
export function failureOf({ kind, key }: Attempt, move: Move, now: number, unknown: boolean): SagaEvent {
  const retryable = move.kind !== 'reject';
  const error = { name: 'Error', message: move.kind };
  const failed = { step: key, error, retryable, now, random: move.random };
  if (kind === 'compensate' || kind === 'undo-child') return { type: 'compensation-failed', ...failed };
  const what = unknown ? 'timeout' : retryable ? 'error' : 'rejected';
  return { type: 'step-failed', kind: what, unknown, ...failed };
}

/**
 * What is wrong with a decision by itself: the state has other attempts than the worker, or nothing is left to do and
 * the saga is not released. `isWaiting`: for another saga or a signal.
 */
export function problemWithDecision(
  { settle, events, actions, wakeAt }: MachineDecision,
  { steps }: SagaState,
  attempts: readonly Attempt[],
  isWaiting: boolean,
): string | undefined {
  const known = attempts.map(({ key }) => key).sort();
  const active = [...steps].filter(([, step]) => step.active).map(([key]) => key);
  if (active.sort().join() !== known.join()) return `in progress: ${known.join()}, but ${active.join()}`;
  const idle = !settle && !events?.length && !actions.length && wakeAt === undefined;
  return idle && known.length === 0 && !isWaiting ? 'nothing to do, but not idle' : undefined;
}
