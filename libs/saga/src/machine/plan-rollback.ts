import { canBeUndone, nodeOf, type SagaGraph, type StepNode } from '../definition/graph/saga-graph.js';
import { decide, dueWhenLost } from './decide.js';
import { isBarred, isDone, isUndecided, mayHavePassed, pivotPassed } from './predicates.js';
import { evolve } from './evolve.js';
import { relationsOf } from './graph-relations.js';
import type { SagaEvent } from './saga-event.js';
import {
  awaitsChild,
  awaitsReply,
  isTerminal,
  type SagaState,
  stepState,
  changeState,
} from './saga-state.js';
import { withStep } from './step-changes.js';

/** A compensation that compensating would run. */
export interface PlannedCompensation {
  readonly node: StepNode;
  /** The step's name, or the item's key. */
  readonly key: string;
  readonly index?: number;
  /**
   * The saga of a sub-saga step, which is cancelled, undone or compensates already. The compensation of the step itself
   * comes after it.
   */
  readonly child?: string;
}

/** What compensating would do, from where a saga stands. */
export interface PlannedRollback {
  /** In the order in which they would begin, if each goes well at once. */
  readonly compensations: readonly PlannedCompensation[];
  /** Steps that took effect, or may have, and have no compensation. */
  readonly kept: readonly string[];
  /** Steps that may be in progress: if they complete, they are undone as well. */
  readonly inProgress: readonly string[];
  /** The point of no return that lies behind: the saga only goes forward. */
  readonly pivot?: string;
  /** The point of no return whose outcome is not known yet: if it completes, nothing of this happens. */
  readonly undecided?: string;
}

/** Plays compensating through, as if everything were undone at the first attempt. Of a completed saga too. */
export function planRollback(graph: SagaGraph, given: SagaState): PlannedRollback {
  const standing: SagaState =
    given.status === 'completed' ? changeState(given, { status: 'running' }) : given;
  if (isTerminal(standing.status)) return { compensations: [], kept: [], inProgress: [] };
  const kept = [...graph.steps.values()]
    .filter((node) => !canBeUndone(node) && tookEffect(standing, node))
    .map((node) => node.name);
  const inProgress = decide(graph, standing, Infinity)
    .actions.filter(({ kind }) => kind === 'run' || kind === 'probe')
    .map(({ key }) => key);
  if (pivotPassed(graph, standing)) {
    const pivot = relationsOf(graph).pivots.find((name) => isDone(stepState(standing, name)));
    return { compensations: [], kept, inProgress, pivot };
  }
  const undecided = pivotToCome(graph, standing);
  const back: SagaEvent =
    standing.heldPhase === 'compensating' ? { type: 'retried' } : { type: 'cancelled', reason: 'preview' };
  const failed = withFailedPivots(graph, standing);
  const compensations = played(graph, evolve(graph, failed, back));
  return { compensations, kept, inProgress, ...(undecided !== undefined && { undecided }) };
}

/** A pivot that may be in progress, in doubt, or barred. */
function pivotToCome(graph: SagaGraph, state: SagaState): string | undefined {
  const due = dueWhenLost(graph, state, Infinity).find(({ kind, node }) => kind === 'run' && node.pivot);
  const doubtful = relationsOf(graph).pivots.find((name) => {
    const [node, step] = [graph.steps.get(name)!, stepState(state, name)];
    return isUndecided(node, step) || mayHavePassed(node, step) || isBarred(graph, state, name);
  });
  return doubtful ?? due?.key;
}

/** As if no pivot that is in doubt had taken effect. */
function withFailedPivots(graph: SagaGraph, state: SagaState): SagaState {
  return relationsOf(graph).pivots.reduce((next, name) => {
    const [node, step] = [graph.steps.get(name)!, stepState(next, name)];
    const isInDoubt = isUndecided(node, step) || mayHavePassed(node, step) || isBarred(graph, next, name);
    if (!isInDoubt || awaitsChild(step)) return next;
    return withStep(next, name, { status: 'failed', unknown: false, active: false });
  }, state);
}

function played(graph: SagaGraph, given: SagaState): PlannedCompensation[] {
  const compensations: PlannedCompensation[] = [];
  let state = given;
  // Those that were asked before are compensating already, and what was requested is only to be confirmed.
  for (const [key, step] of given.steps) {
    if (awaitsReply(step)) {
      state = evolve(graph, state, { type: 'compensation-started', step: key });
      state = evolve(graph, state, { type: 'compensation-completed', step: key });
    }
    if (!awaitsChild(step) || step.child!.phase === 'running') continue;
    compensations.push({ node: nodeOf(graph, key), key, child: step.child!.id });
    state = evolve(graph, state, childIsGone(key, step.child!.id));
  }
  for (;;) {
    const { actions, settle } = decide(graph, state, Infinity);
    if (settle !== undefined || actions.length === 0) return compensations;
    for (const { kind, node, key, index } of actions) {
      if (kind === 'compensate') {
        compensations.push(index === undefined ? { node, key } : { node, key, index });
        state = evolve(graph, state, { type: 'compensation-started', step: key });
        state = evolve(graph, state, { type: 'compensation-completed', step: key });
      } else if (kind === 'cancel-child' || kind === 'undo-child') {
        const child = stepState(state, key).child!.id;
        compensations.push({ node, key, child });
        if (kind === 'undo-child') {
          state = evolve(graph, state, { type: 'compensation-started', step: key });
          state = evolve(graph, state, { type: 'child-undoing', step: key, child });
        }
        state = evolve(graph, state, childIsGone(key, child));
      } else {
        state = evolve(graph, state, { type: 'probe-started', step: key });
        state = evolve(graph, state, cannotSay(key));
      }
    }
  }
}

function tookEffect(state: SagaState, node: StepNode): boolean {
  const { status, unknown } = stepState(state, node.name);
  return status === 'completed' || (status !== 'skipped' && unknown);
}

function childIsGone(step: string, child: string): SagaEvent {
  return { type: 'child-ended', step, child, status: 'compensated', now: 0 };
}

function cannotSay(step: string): SagaEvent {
  const error = { name: 'StepInterruptedError', message: 'the approval was not requested' };
  const failed = { kind: 'error', unknown: true, retryable: false, now: 0, random: 0 } as const;
  return { type: 'step-failed', step, error, ...failed };
}
