import { callOn } from '../../engine/operate/approvals.js';
import { CALL_RULES } from '../../engine/operate/call-rules.js';
import { checkNamed, operated } from '../../engine/operate/operator-calls.js';
import type { ChangingCall } from '../../engine/ports/call-table.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { SagaStateError } from '../../errors.js';
import { awaitedBy } from '../../machine/sub-sagas.js';
import type { ServiceRuntime } from '../assemble-engine.js';
import type { OperatorOptions } from './operator-options.js';
import { readCall } from './read-call.js';
import { type UnknownStep, unknownStep, unknownStepError } from './unknown-steps.js';
import { approvalPending, notFound, type SagaTarget, toTarget } from './saga-calls.js';

/**
 * Makes an operator's call: the change, and its entry in the saga's history.
 * @param operands what the call has before its options
 */
export async function operate(
  runtime: ServiceRuntime,
  action: ChangingCall,
  target: SagaTarget,
  given: object | undefined,
  operands: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const parts = await runtime.ready();
  const { engine, registry, options } = parts;
  const read = readCall(action, operands, given, options);
  checkNamed(read);
  let call = read;
  let pending: number | undefined;
  let unknown: UnknownStep | undefined;
  const edited = await engine.edit(toTarget(target, registry), (saga, graph, now) => {
    call = callOn(saga, graph, read);
    const made = operated(saga, call, () => {
      unknown = unknownStep(saga, graph, read);
      return unknown ? undefined : CALL_RULES[call.action].edit(saga, graph, now, call);
    });
    pending = made.pending;
    return made.edit;
  });
  if (!edited) throw notFound(target);
  if (unknown) throw await unknownStepError(parts, read, unknown);
  if (pending !== undefined) throw approvalPending(edited.id, call, pending);
  if (action === 'abort') await abortChildren(runtime, edited, call);
}

/** Aborts the sub-sagas that its steps wait for. Repeated after it was cut off in between, it goes on here. */
async function abortChildren(
  runtime: ServiceRuntime,
  { state }: StoredSaga,
  { by, reason }: OperatorOptions,
): Promise<void> {
  for (const { id } of awaitedBy(state)) {
    try {
      await operate(runtime, 'abort', id, { by, reason });
    } catch (error) {
      // A sub-saga that has ended is unchanged.
      if (!(error instanceof SagaStateError)) throw error;
    }
  }
}
