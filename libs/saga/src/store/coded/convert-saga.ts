import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Checkpoint } from '../../engine/ports/checkpoint.js';
import type { Edit } from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { type SagaState, changeState } from '../../machine/saga-state.js';
import { StepMapBuilder, differingSteps } from '../../machine/data/step-map.js';
import type { Conversion } from './coder.js';
import {
  convertCheckpointFields,
  convertOperation,
  convertReason,
  convertSignal,
  convertStateEdit,
  convertStep,
  convertStoredSaga,
} from './private-fields.js';

/** A saga as it is stored, or as it was read: all that it was given and gave. */
export function convertSaga(saga: StoredSaga, by: Conversion): StoredSaga {
  return convertStoredSaga(saga, by, { sagaId: saga.id });
}

/** Steps that are converted before other work of the process has its turn. */
const STEPS_AT_ONCE = 1_000;

/** Does what `convertSaga` does, in turns with other work if there are many steps. */
export async function convertInTurns(saga: StoredSaga, by: Conversion): Promise<StoredSaga> {
  const { id: sagaId, state } = saga;
  if (state.steps.size <= STEPS_AT_ONCE) return convertSaga(saga, by);
  const builder = new StepMapBuilder();
  let isSame = true;
  let count = 0;
  for (const [key, step] of state.steps) {
    const after = convertStep(step, by, { sagaId, step: key });
    isSame &&= after === step;
    builder.add(key, after);
    count += 1;
    if (count % STEPS_AT_ONCE === 0) await nextTurn();
  }
  const withSteps = isSame ? saga : { ...saga, state: changeState(state, { steps: builder.build() }) };
  return convertStoredSaga(withSteps, by, { sagaId, keys: [] });
}

/** Steps of `changed` that have notes are encoded, too: the row of the saga shows the error of the last one. */
export function convertCheckpoint(checkpoint: Checkpoint, by: Conversion): Checkpoint {
  const { id: sagaId, changed: keys } = checkpoint;
  const state = storedState(checkpoint);
  return convertCheckpointFields(state === checkpoint.state ? checkpoint : { ...checkpoint, state }, by, {
    sagaId,
    keys,
  });
}

/** Returns the state as it is stored: with a failure that is an attempt's error, the saga has only the message. */
function storedState({ state, failedAttempt }: Checkpoint): SagaState {
  const { failure } = state;
  if (failedAttempt === undefined || failure?.error === undefined) return state;
  const { name, message } = failure.error;
  return changeState(state, { failure: { ...failure, error: { name, message } } });
}

/** A saga that is edited: as it was read, and as it is stored. */
interface EditedSaga {
  readonly read: StoredSaga;
  readonly stored: StoredSaga;
}

/** Steps that the edit does not change stay as they are stored: an encoding may give another text each time. */
export function convertEdit(given: Edit, saga: EditedSaga, by: Conversion): Edit {
  const sagaId = saga.stored.id;
  const edit: Edit = given.operation
    ? { ...given, operation: convertOperation(given.operation, by, { sagaId }) }
    : given;
  if ('requestPause' in edit || 'proposal' in edit) return edit;
  if ('requestCancel' in edit)
    return { ...edit, requestCancel: convertReason(edit.requestCancel, by, { sagaId }) };
  if ('putBack' in edit) {
    const checkpoint = convertCheckpoint(edit.putBack.checkpoint, by);
    return { ...edit, putBack: { ...edit.putBack, checkpoint } };
  }
  if ('signal' in edit) return { ...edit, signal: convertSignal(edit.signal, by) };
  const keys = differingSteps(saga.read.state.steps, edit.state.steps);
  const converted = convertStateEdit(edit, by, { sagaId, keys });
  return { ...converted, state: withStored(converted.state, saga, keys) };
}

/** The other steps are the same, in their stored form. */
function withStored(state: SagaState, { read, stored }: EditedSaga, changes: readonly string[]): SagaState {
  if (read.state === stored.state) return state;
  const isChanged = new Set(changes);
  const steps = new Map(state.steps);
  for (const key of steps.keys()) if (!isChanged.has(key)) steps.set(key, stored.state.steps.get(key)!);
  return { ...state, steps };
}
