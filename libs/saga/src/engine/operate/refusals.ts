import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { SagaStateError } from '../../errors.js';
import type { StoredSaga } from '../ports/stored-saga.js';

/** A call that a saga does not allow. @param why default: its status */
export function refusedCall(call: string, { id, name, state }: StoredSaga, why?: string): SagaStateError {
  const { status, heldPhase } = state;
  const doing = heldPhase && `, while ${heldPhase === 'compensating' ? 'compensating' : 'going forward'}`;
  return new SagaStateError(
    `Saga ${id} (${name}) cannot be ${call}: ${why ?? `it is ${status}${doing ?? ''}`}.`,
  );
}

/** A call that a step does not allow. */
export function refusedStep(call: string, step: string, { id }: StoredSaga, why: string): SagaStateError {
  return new SagaStateError(`Step '${step}' of saga ${id} cannot be ${call}: ${why}.`);
}

/** Why a call needs the graph of the saga. @param what what cannot be determined without it */
export function graphMissing(saga: StoredSaga, what: string): string {
  const cause = `this process does not have ${sagaLabel(saga)}, and therefore cannot determine ${what}`;
  return `${cause}. Make the call in a process that has it`;
}
