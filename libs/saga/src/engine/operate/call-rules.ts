import { signalsOfGraph } from '../../definition/describe/graph-record.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import { SagaStateError } from '../../errors.js';
import { rescheduleable } from '../../machine/reschedule.js';
import { isInProgress, isTerminal, type SagaState } from '../../machine/saga-state.js';
import { KIND, TIMED } from '../../machine/data/step-kinds.js';
import { ownStepsOfKinds } from '../../machine/data/step-map.js';
import { CALL_NAMES, type CallName, type DecisionCall, type ChangingCall } from '../ports/call-table.js';
import { liveState } from '../ports/live-state.js';
import type { Edit } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { decisionEdit } from './approvals.js';
import { mayBeMarked } from './edit-by-events.js';
import { keepRedacted } from './keep-redacted.js';
import type { OperatorCall } from './operator-calls.js';
import {
  abortEdit,
  cancelEdit,
  pauseEdit,
  permanentlyFailed,
  resolveEdit,
  resolvesCompensation,
  resumeEdit,
  retryEdit,
  undoEdit,
  rescheduleEdit,
} from './operator-edits.js';
import {
  abandonable,
  abandonEdit,
  attemptsOf,
  backingOff,
  resolvable,
  retryNowEdit,
} from './way-out-edits.js';

/** A call that a saga's state allows. Whether it still does when it is made, the call itself says. */
export interface AllowedCall {
  readonly kind: CallName;
  /** The steps that it can be made on, if it is made on one. */
  readonly steps?: readonly string[];
  /** The names that can be sent. */
  readonly signals?: readonly string[];
}

/** A saga as its calls look at it. */
interface Look {
  readonly saga: StoredSaga;
  /** Undefined: this process does not have the saga. */
  readonly graph: SagaGraph | undefined;
  /** The database's time. */
  readonly now: number;
  /** With what no checkpoint has recorded yet. */
  readonly live: SagaState;
  /** The steps that have an attempt in progress. */
  readonly busy: readonly string[];
}

interface CallRule {
  /** What the call does to a saga. @throws SagaStateError if that does not fit its state */
  edit(saga: StoredSaga, graph: SagaGraph | undefined, now: number, call: OperatorCall): Edit | undefined;
  /** The steps that the call can be made on now. Absent: it is made on the saga, if its edit changes something. */
  steps?(look: Look): readonly string[];
}

/** How each call changes a saga, and when it may be made. */
export const CALL_RULES: Readonly<Record<ChangingCall, CallRule>> = {
  retry: {
    edit: (saga, graph, now, { step, input }) => {
      const kept = keepRedacted(input, saga.input, graph);
      const edit = retryEdit(saga, graph, now, { step, input });
      return kept !== undefined && edit && 'state' in edit ? { ...edit, input: kept } : edit;
    },
  },
  retryNow: {
    edit: retryNowEdit,
    steps: ({ saga, busy }) =>
      busy.length === 0 && isInProgress(saga.state.status) ? backingOff(saga.state) : [],
  },
  approve: decision('approve'),
  reject: decision('reject'),
  resume: { edit: resumeEdit },
  pause: { edit: pauseEdit },
  resolve: {
    edit: (saga, graph, now, call) => resolveEdit(saga, graph, now, { ...call, step: call.step! }),
    steps: ({ saga, graph, live, busy }) => {
      const open = graph && isInProgress(saga.state.status) ? [...busy, ...resolvable(graph, live)] : [];
      return unique([...permanentlyFailed(saga, graph), ...open]).filter(
        (key) => resolvesCompensation(saga, key) || mayBeMarked(saga, graph, key),
      );
    },
  },
  cancel: { edit: cancelEdit },
  undo: { edit: undoEdit },
  reschedule: {
    edit: (saga, graph, now, { step, at }) => rescheduleEdit(saga, graph, now, { step: step!, at: at! }),
    steps: ({ saga, busy }) => (busy.length === 0 ? rescheduleable(saga.state) : []),
  },
  abandon: {
    edit: (saga, graph, now, call) => {
      const given = { step: call.step!, force: call.force, error: abandonedError(call) };
      return abandonEdit(saga, graph, now, { ...given, random: Math.random() });
    },
    steps: ({ saga, graph, live }) => (graph && isInProgress(saga.state.status) ? abandonable(live) : []),
  },
  abort: { edit: abortEdit },
};

/**
 * Returns the calls that the state of a saga allows, and that would change it, in the order of their table.
 * @param graph undefined: this process does not have the saga
 * @param now the database's time
 */
export function allowedCalls(saga: StoredSaga, graph: SagaGraph | undefined, now: number): AllowedCall[] {
  const live = graph ? liveState(saga, graph, now) : saga.state;
  const busy = isInProgress(saga.state.status) ? attemptsOf(live) : [];
  const look: Look = { saga, graph, now, live, busy };
  return CALL_NAMES.flatMap((kind) => allowed(kind, look));
}

function allowed(kind: CallName, look: Look): AllowedCall[] {
  const { saga, graph, now } = look;
  if (kind === 'signal') {
    const signals = isTerminal(saga.state.status) ? [] : signalsOf(graph);
    return signals.length > 0 ? [{ kind, signals }] : [];
  }
  const rule = CALL_RULES[kind];
  if (rule.steps) {
    const steps = rule.steps(look);
    return steps.length > 0 ? [{ kind, steps }] : [];
  }
  if (!isAccepted(() => rule.edit(saga, graph, now, ANY_CALL))) return [];
  const failed = kind === 'retry' ? permanentlyFailed(saga, graph) : [];
  return [{ kind, ...(failed.length > 0 && { steps: failed }) }];
}

/** A call that says nothing: it asks whether such a call is allowed. */
const ANY_CALL: OperatorCall = { id: '', action: 'cancel', needed: 1 };

/** Whether a saga's state accepts an edit, and the edit changes something. */
export function isAccepted(edit: () => Edit | undefined): boolean {
  try {
    return edit() !== undefined;
  } catch (error) {
    if (error instanceof SagaStateError) return false;
    throw error;
  }
}

function decision(call: DecisionCall): CallRule {
  const isApproved = call === 'approve';
  return {
    edit: (saga, graph, now, { id, step, by, reason: comment }) => {
      const made = { approved: isApproved, by: by!, ...(comment !== undefined && { comment }) };
      return decisionEdit(saga, graph, now, { step: step!, decision: made, messageId: id });
    },
    // Those that wait for a decision.
    steps: ({ saga, graph, now }) =>
      [...ownStepsOfKinds(saga.state.steps, KIND.waiting | TIMED)].flatMap(([step]) => {
        if (mayBeMarked(saga, graph, step)) return [];
        const rejection = { step, decision: { approved: false, by: '' }, messageId: '' };
        return isAccepted(() => decisionEdit(saga, graph, now, rejection)) ? [step] : [];
      }),
  };
}

/** The error of an attempt that an operator abandoned. */
function abandonedError({ by = 'an operator', reason }: OperatorCall): SerializedError {
  return {
    name: 'AttemptAbandonedError',
    code: 'SAGA_ATTEMPT_ABANDONED',
    message: `The attempt was abandoned by ${by}${reason ? `: ${reason}` : ''}`,
  };
}

function signalsOf(graph: SagaGraph | undefined): string[] {
  if (!graph || handlerOf(graph.name) !== undefined) return [];
  return signalsOfGraph(graph);
}

function unique(keys: readonly string[]): string[] {
  return [...new Set(keys)];
}
