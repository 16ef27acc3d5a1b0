import { SagaStateError, SagaValidationError } from '../../errors.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';
import { samePayload } from '../payload/payload.js';
import type { ChangingCall } from '../ports/call-table.js';
import type { Operation } from '../ports/operation.js';
import type { Edit } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';

/** The options of all calls, as they were read: values are JSON text, and a time is found from that of the call. */
export interface CallValues {
  readonly step?: string;
  readonly unlessBegun?: string;
  readonly force?: boolean;
  readonly input?: string;
  readonly result?: string;
  readonly at?: (now: number) => number;
}

/** An operator's call, as it was read. */
export interface OperatorCall extends CallValues {
  /** A UUID, the same however often the call is sent. */
  readonly id: string;
  readonly action: ChangingCall;
  readonly by?: string;
  readonly reason?: string;
  /** The new input of a retry, the result of a step, as JSON text. Another one is another call. */
  readonly given?: string;
  /** How the saga was when the operator looked at it. */
  readonly expects?: { readonly status?: SagaStatus; readonly revision?: number };
  /** People who have to make the same call, this one included. */
  readonly needed: number;
}

/** What a call comes to. `pending`: so many have made it, and others have to, before it is carried out. */
export interface Operated {
  readonly edit: Edit | undefined;
  readonly pending?: number;
}

/**
 * An operator's call: kept in the saga's history with what it changes, and carried out once enough people have made it.
 * One whose answer was lost is not carried out again. Of calls that change nothing, the first is kept.
 * @param change what it does; throws when that does not fit the saga
 * @throws SagaStateError when the saga is not as the operator expects it
 */
export function operated(saga: StoredSaga, call: OperatorCall, change: () => Edit | undefined): Operated {
  const before = saga.operations?.find(({ id }) => id === call.id);
  const proposers = proposersOf(saga, call);
  const isPending = before?.proposed && call.needed > 1;
  if (before) return { edit: undefined, ...(isPending && { pending: proposers.size }) };
  checkExpected(saga, call);
  const edit = change();
  const operation: Operation = {
    ...{ id: call.id, action: call.action, by: call.by, reason: call.reason, step: call.step },
    ...{ from: saga.state.status, revision: saga.checkpoints, newInput: call.input !== undefined },
    ...(call.given !== undefined && { given: call.given }),
    proposed: false,
  };
  if (!edit) return { edit: isFirst(saga, call) ? { proposal: true, operation } : undefined };
  const pending = new Set([...proposers, call.by]).size;
  // The step of an approval itself may require several people.
  const proposed = 'proposal' in edit;
  if (pending >= call.needed) return { edit: { ...edit, operation: { ...operation, proposed } } };
  const isNew = !proposers.has(call.by!);
  return {
    edit: isNew ? { proposal: true, operation: { ...operation, proposed: true } } : undefined,
    pending,
  };
}

/** No operator has made the call before. A call that requires several operators has no entry without effect. */
function isFirst({ operations = [] }: StoredSaga, { action, step, needed }: OperatorCall): boolean {
  const isSame = (one: Operation) => one.action === action && one.step === step && !one.proposed;
  return needed === 1 && !operations.some(isSame);
}

/** Who has proposed the same, with all that it is given, for the saga as it is. */
function proposersOf({ operations = [], checkpoints }: StoredSaga, call: OperatorCall) {
  const same = operations.filter(
    (one) =>
      one.proposed &&
      one.action === call.action &&
      one.step === call.step &&
      one.revision === checkpoints &&
      (one.newInput ?? false) === (call.input !== undefined) &&
      samePayload(one.given, call.given),
  );
  return new Set(same.map(({ by }) => by!));
}

function checkExpected(
  { id, name, state, checkpoints }: StoredSaga,
  { action, expects }: OperatorCall,
): void {
  const { status = state.status, revision = checkpoints } = expects ?? {};
  if (status === state.status && revision === checkpoints) return;
  const difference =
    status === state.status
      ? `it has changed since revision ${revision} (its revision is ${checkpoints})`
      : `it is ${state.status}, and was expected to be ${status}`;
  throw new SagaStateError(
    `Saga ${id} (${name}): ${action}() changed nothing, because ${difference}. Read the saga again and repeat the call.`,
  );
}

/** @throws SagaValidationError when a call that needs several people does not say who makes it */
export function checkNamed({ action, by, needed }: OperatorCall): void {
  if (needed < 2 || by !== undefined) return;
  throw new SagaValidationError(
    `${action}() requires the approval of ${needed} operators. Give the operator who calls: { by }.`,
  );
}
