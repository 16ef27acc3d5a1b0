import { type Checkpoint, concernsOthers } from '../../engine/saga-store.js';
import { isTerminal } from '../../machine/saga-state.js';
import { checkpointOneParameters, checkpointParameters } from './checkpoint-parameters.js';
import { familyParameters } from './family-parameters.js';
import { inLockOrder } from './in-lock-order.js';

interface CheckpointCall {
  readonly statement: 'checkpointFamily' | 'checkpointLocked' | 'checkpointOne' | 'checkpoint';
  readonly parameters: unknown[];
}

/** Which statement stores these checkpoints: with other sagas that it concerns, with locks to hand on, of one saga and step as on an idle server, or many. */
export function checkpointCall(checkpoints: readonly Checkpoint[]): CheckpointCall {
  const [first] = checkpoints;
  if (first && concernsOthers(first))
    return { statement: 'checkpointFamily', parameters: familyParameters(first) };
  const locks = checkpoints.flatMap(({ lock, state }) => (lock && isTerminal(state.status) ? [lock] : []));
  if (locks.length > 0) {
    const lines = [locks.map(({ name }) => name), locks.map(({ key }) => key)];
    return { statement: 'checkpointLocked', parameters: [...lines, ...batchOf(checkpoints)] };
  }
  const one = checkpointOneParameters(checkpoints);
  if (one) return { statement: 'checkpointOne', parameters: one };
  return { statement: 'checkpoint', parameters: batchOf(checkpoints) };
}

function batchOf(checkpoints: readonly Checkpoint[]): unknown[][] {
  return checkpointParameters(inLockOrder(checkpoints));
}
