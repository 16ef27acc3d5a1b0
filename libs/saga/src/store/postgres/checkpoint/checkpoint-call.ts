import { type Checkpoint, concernsOthers } from '../../../engine/ports/checkpoint.js';
import { isTerminal } from '../../../machine/saga-state.js';
import {
  checkpointOneParameters,
  checkpointParameters,
  PUBLISH_PARAMETERS,
} from './checkpoint-parameters.js';
import { columnArrays } from './column-values.js';
import { startParameters } from '../start/start-parameters.js';
import type { StoreCall } from './prepared-calls.js';
import { inLockOrder } from './in-lock-order.js';

/**
 * Which statement stores these checkpoints: with other sagas that it concerns, with messages, with locks to hand on, of
 * one saga and step as on an idle server, or many.
 * @param fresh none of the steps in them is stored yet
 */
export function checkpointCall(checkpoints: readonly Checkpoint[], fresh: boolean): StoreCall {
  const [first] = checkpoints;
  if (first && concernsOthers(first))
    return { statement: 'checkpointFamily', parameters: familyParameters(first, fresh) };
  const locks = checkpoints.flatMap(({ lock, state }) => (lock && isTerminal(state.status) ? [lock] : []));
  const lines = [locks.map(({ name }) => name), locks.map(({ key }) => key)];
  const published = checkpoints.filter(({ messages }) => messages !== undefined);
  if (published.length > 0) {
    const messages = published.flatMap(({ id, messages }) =>
      messages!.map((message) => [id, message] as const),
    );
    const outbox = [
      messages.map(([id]) => id),
      ...columnArrays(
        PUBLISH_PARAMETERS,
        messages.map(([, message]) => message),
      ),
    ];
    return {
      statement: 'checkpointPublish',
      parameters: [...outbox, ...lines, ...batchOf(checkpoints, fresh)],
    };
  }
  if (locks.length > 0) {
    return { statement: 'checkpointLocked', parameters: [...lines, ...batchOf(checkpoints, fresh)] };
  }
  const one = checkpointOneParameters(checkpoints, fresh);
  if (one) return { statement: 'checkpointOne', parameters: one };
  return { statement: 'checkpoint', parameters: batchOf(checkpoints, fresh) };
}

function batchOf(checkpoints: readonly Checkpoint[], fresh: boolean): unknown[] {
  return checkpointParameters(inLockOrder(checkpoints), fresh);
}

/** The arguments of checkpoint_family. */
function familyParameters(checkpoint: Checkpoint, fresh: boolean): unknown[] {
  const { lock, parent, state, starts = [], messages = [] } = checkpoint;
  const ends = isTerminal(state.status);
  const handedOn = lock && ends ? [lock] : [];
  return [
    handedOn.map(({ name }) => name),
    handedOn.map(({ key }) => key),
    parent && ends ? parent.id : null,
    starts.map(({ parent: { step } }) => step),
    ...columnArrays(PUBLISH_PARAMETERS, messages),
    ...startParameters(starts, starts),
    ...checkpointParameters([checkpoint], fresh),
  ];
}
