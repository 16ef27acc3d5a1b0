import { signalsOfGraph } from '../definition/describe/graph-record.js';
import { handlerOf } from '../definition/options/handler-name.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { decisionEdit } from '../engine/operate/approvals.js';
import { mayBeMarked } from '../engine/operate/edited.js';
import {
  abortEdit,
  cancelEdit,
  pauseEdit,
  permanentlyFailed,
  resumeEdit,
  retryEdit,
  undoEdit,
} from '../engine/operate/operator-edits.js';
import { abandonable, attemptsOf, backingOff, completable } from '../engine/operate/way-out-edits.js';
import { liveState } from '../engine/ports/live-state.js';
import type { Edit } from '../engine/ports/saga-store.js';
import type { StoredSaga } from '../engine/ports/stored-saga.js';
import { SagaStateError } from '../errors.js';
import { rescheduleable } from '../machine/reschedule.js';
import { isInProgress, isTerminal, needsOperator, stepState } from '../machine/saga-state.js';
import { KIND, TIMED } from '../machine/step-kinds.js';
import { ownStepsOfKinds } from '../machine/step-map.js';
import type { OperatorAction } from './admin.options.js';

/** Something that a saga's state lets an operator do. Whether it still does when it is done, the call itself says. */
export interface AllowedAction {
  readonly kind: OperatorAction;
  /** The steps that it can be done to, where it is done to one. */
  readonly steps?: readonly string[];
  /** The names that can be sent. */
  readonly signals?: readonly string[];
  /** A retry of a saga that waits for the next attempt: with `now`. */
  readonly now?: true;
}

/**
 * Returns what the calls themselves would not refuse, and would change.
 * @param graph undefined: this process does not have the saga
 * @param now the database's time
 */
export function allowedActions(saga: StoredSaga, graph: SagaGraph | undefined, now: number): AllowedAction[] {
  const { state } = saga;
  const { status } = state;
  const live = graph ? liveState(saga, graph, now) : state;
  const goes = isInProgress(status);
  const failed = needsOperator(status) ? [...new Set(permanentlyFailed(saga, graph))] : [];
  const isBack = state.heldPhase === 'compensating' || status === 'compensating';
  const given = (step: string) => isBack || mayBeMarked(saga, graph, step);
  const skippable = failed.filter((key) => given(key) || isCompensation(saga, key));
  const busy = goes ? attemptsOf(live) : [];
  const isIdle = busy.length === 0;
  const backsOff = goes && isIdle ? backingOff(state) : [];
  const timed = isIdle ? rescheduleable(state) : [];
  const open = graph && goes ? [...new Set([...busy, ...completable(graph, live)])].filter(given) : [];
  const hanging = graph && goes ? abandonable(live) : [];
  const approvals = approvalsOpen(saga, graph);
  const signals = isTerminal(status) ? [] : signalsOf(graph);
  const actions: (AllowedAction | false)[] = [
    allows(() => retryEdit(saga, graph, now, {})) && {
      kind: 'retry',
      ...(failed.length > 0 && { steps: failed }),
    },
    backsOff.length > 0 && { kind: 'retry', steps: backsOff, now: true },
    skippable.length > 0 && { kind: 'skip', steps: skippable },
    approvals.length > 0 && { kind: 'approve', steps: approvals },
    approvals.length > 0 && { kind: 'reject', steps: approvals },
    allows(() => resumeEdit(saga, graph, now)) && { kind: 'resume' },
    allows(() => pauseEdit(saga, graph, now)) && { kind: 'pause' },
    signals.length > 0 && { kind: 'signal', signals },
    allows(() => cancelEdit(saga, graph, now, {})) && { kind: 'cancel' },
    allows(() => undoEdit(saga, graph, now, {})) && { kind: 'undo' },
    timed.length > 0 && { kind: 'reschedule', steps: timed },
    open.length > 0 && { kind: 'complete', steps: open },
    hanging.length > 0 && { kind: 'abandonAttempt', steps: hanging },
    allows(() => abortEdit(saga, graph, now, {})) && { kind: 'abort' },
  ];
  return actions.filter((action) => action !== false);
}

function allows(edit: () => Edit | undefined): boolean {
  try {
    return edit() !== undefined;
  } catch (error) {
    if (error instanceof SagaStateError) return false;
    throw error;
  }
}

function isCompensation({ state }: StoredSaga, key: string): boolean {
  return stepState(state, key).status === 'compensation_failed';
}

/** The approvals that wait for a decision. */
function approvalsOpen(saga: StoredSaga, graph: SagaGraph | undefined): string[] {
  const decision = { approved: false, by: '', at: '' };
  return [...ownStepsOfKinds(saga.state.steps, KIND.waiting | TIMED)].flatMap(([step]) => {
    if (mayBeMarked(saga, graph, step)) return [];
    return allows(() => decisionEdit(saga, graph, { step, decision, messageId: '' })) ? [step] : [];
  });
}

function signalsOf(graph: SagaGraph | undefined): string[] {
  if (!graph || handlerOf(graph.name) !== undefined) return [];
  return signalsOfGraph(graph);
}
