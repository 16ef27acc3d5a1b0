import type { SerializedError } from '../../definition/types/saga-failure.js';
import { approvalSignal, type SagaGraph, sagaLabel } from '../../definition/graph/saga-graph.js';
import { APPROVAL_PREFIX } from '../../definition/options/signal-name.js';
import type { ApprovalDecision } from '../../definition/options/step-options.js';
import { SagaStateError, SagaValidationError } from '../../errors.js';
import { isTerminal, stepState } from '../../machine/saga-state.js';
import { isWaitOver } from '../../machine/waits.js';
import { isDecision, type StoredOperation } from '../ports/operation.js';
import type { Edit } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { OperatorCall } from './operator-calls.js';
import { refusedStep } from './refusals.js';

/** A decision as it is stored: the payload of its signal. */
export interface StoredDecision extends ApprovalDecision {
  readonly approved: boolean;
}

/** Why a step that waits for an operator has failed; undefined: it was approved, or this is no decision. */
export function refusalIn(signal: string, payload: string | undefined): SerializedError | undefined {
  if (!signal.startsWith(APPROVAL_PREFIX) || payload === undefined) return undefined;
  const { approved, by, comment } = JSON.parse(payload) as StoredDecision;
  if (approved) return undefined;
  return {
    name: 'ApprovalRejectedError',
    code: 'SAGA_APPROVAL_REJECTED',
    message: `Rejected by ${by}${comment === undefined ? '' : `: ${comment}`}`,
  };
}

/** Whether a step is an approval. Without the graph, that is known only while it waits. */
export function isApproval({ state }: StoredSaga, graph: SagaGraph | undefined, step: string): boolean {
  if (graph) return graph.steps.get(step)?.kind === 'approval';
  return stepState(state, step).wait?.signal === approvalSignal(step);
}

/** Whether a step is an approval whose decision the saga still takes. */
export function awaitsDecision(saga: StoredSaga, graph: SagaGraph | undefined, step: string): boolean {
  const { status, wait } = stepState(saga.state, step);
  const isOpen = (status === 'pending' || status === 'waiting') && wait?.takenSignal === undefined;
  return isOpen && isApproval(saga, graph, step);
}

/**
 * The call that is made: to resolve an approval that is not decided is to approve it, with the quorum of its step.
 * @throws SagaValidationError if it names no operator, or has a result, which the method of the approval makes
 */
export function callOn(
  saga: StoredSaga,
  graph: SagaGraph | undefined,
  { action, step, ...call }: OperatorCall,
): OperatorCall {
  if (action !== 'resolve' || !awaitsDecision(saga, graph, step!)) return { action, step, ...call };
  const { id, by, reason, expects, result } = call;
  if (by === undefined || result !== undefined) {
    const how =
      by === undefined
        ? 'Give the operator who decides: { by }'
        : 'Its method makes the result: remove { result }';
    throw new SagaValidationError(`resolve(): step '${step}' is an approval. ${how}.`);
  }
  return { id, action: 'approve', step, by, reason, expects, needed: 1 };
}

/**
 * Stores an operator's decision, unless there is one already that the saga has not taken.
 * @throws SagaValidationError when the step is no approval
 * @throws SagaStateError when nothing is left to decide
 */
export function decisionEdit(
  saga: StoredSaga,
  graph: SagaGraph | undefined,
  now: number,
  { step, decision, messageId }: { step: string; decision: Omit<StoredDecision, 'at'>; messageId: string },
): Edit | undefined {
  const name = approvalSignal(step);
  const pending = saga.signals?.find((signal) => signal.name === name);
  if (pending?.messageId === messageId) return undefined; // an answer that was lost
  checkApproval(saga, graph, step);
  const refuse = (why: string) => refusedStep(decision.approved ? 'approved' : 'rejected', step, saga, why);
  const { status, rollbackTo } = saga.state;
  if (isTerminal(status) || (status === 'compensating' && rollbackTo === undefined))
    throw refuse(`the saga is ${status}`);
  if (pending) {
    const { approved, by } = JSON.parse(pending.payload!) as StoredDecision;
    throw refuse(`${by} has already ${approved ? 'approved' : 'rejected'} it`);
  }
  const { status: stands, wait } = stepState(saga.state, step);
  if (wait?.takenSignal !== undefined) throw refuse(`it was already approved, and is ${stands}`);
  if (stands !== 'pending' && stands !== 'waiting') throw refuse(`it is ${stands}`);
  if (isWaitOver({ wait }, now)) throw refuse(`it waited until ${timeText(wait!.until!)}`);
  // That of a wait that has begun, as the list of tasks shows it. A deploy changes those that begin later.
  const { quorum = 1 } = wait ?? graph?.steps.get(step)?.wait ?? {};
  const isShared = decision.approved && quorum > 1;
  // Others have to approve it, too. Their comments are read only by the last one, which may need a codec for that.
  if (isShared && countedWith(saga, step, decision, quorum) < quorum) return { proposal: true };
  const { approved, ...given } = decision;
  const own = { ...given, at: timeText(now) };
  const made = { approved, ...own, ...(isShared && { approvals: [...approvalsOf(saga, step), own] }) };
  return { signal: { name, messageId, payload: JSON.stringify(made) } };
}

/** The approvals of a step that is not decided yet, oldest first. */
export function approvalsOf({ operations = [] }: Pick<StoredSaga, 'operations'>, step: string): Approved[] {
  return openDecisions(operations, step).map(({ by, reason, at }) => ({
    by: by!,
    ...(reason !== undefined && { comment: reason }),
    at: timeText(at),
  }));
}

type Approved = Omit<ApprovalDecision, 'approvals'>;

function timeText(time: number): string {
  return new Date(time).toISOString();
}

function openDecisions(operations: readonly StoredOperation[], step: string): StoredOperation[] {
  const own = operations.filter((one) => one.step === step && isDecision(one));
  // What was not only proposed has decided it.
  return own.slice(own.findLastIndex(({ proposed }) => !proposed) + 1);
}

/** The number of approvals with this one. @throws SagaStateError if its operator has already approved the step */
function countedWith(saga: StoredSaga, step: string, { by }: { by: string }, quorum: number): number {
  const before = openDecisions(saga.operations ?? [], step);
  if (!before.some((one) => one.by === by)) return before.length + 1;
  const has = `It requires the approval of ${quorum} different operators, and has ${before.length}`;
  throw refusedStep('approved', step, saga, `${by} has already approved it. ${has}`);
}

function checkApproval({ id, ...saga }: StoredSaga, graph: SagaGraph | undefined, step: string): void {
  if (isApproval({ id, ...saga }, graph, step)) return;
  if (!graph)
    throw new SagaStateError(
      `Step '${step}' of saga ${id} cannot be decided on here: this process does not have ${sagaLabel(saga)}, and the ` +
        `saga does not wait for approval of this step yet. Repeat the call in a process that has it.`,
    );
  const approvals = [...graph.steps.values()]
    .filter(({ kind }) => kind === 'approval')
    .map((node) => node.name);
  throw new SagaValidationError(
    `'${step}' is not an approval step of ${sagaLabel(saga)}. ${
      approvals.length > 0
        ? `Its approvals: ${approvals.join(', ')}.`
        : 'It has none; declare one with @Approval().'
    }`,
  );
}
