import { setImmediate as nextTurn } from 'node:timers/promises';
import { itemKey } from '../../definition/graph/saga-graph.js';
import type { SagaFailure, SerializedError } from '../../definition/types/saga-failure.js';
import type { Operation } from '../../engine/ports/operation.js';
import type { Edit } from '../../engine/ports/saga-store.js';
import { type Checkpoint, writtenSteps } from '../../engine/ports/checkpoint.js';
import type { NewSaga, SentSignal, StoredSaga } from '../../engine/ports/stored-saga.js';
import { changeState, changeStep } from '../../machine/change-state.js';
import type { SagaState, StepState } from '../../machine/saga-state.js';
import { ALL } from '../../machine/step-kinds.js';
import { mapOfKinds, StepMap, StepMapBuilder } from '../../machine/step-map.js';
import { differingSteps } from '../../machine/differing-steps.js';
import type { Conversion } from './coder.js';
import type { PayloadContext } from './payload-codec.js';

// Whatever no conversion changes is given back as it was, so that where there is no codec nothing is copied.

/** A saga as it is stored, or as it was read: all that it was given and gave. */
export function convertSaga(saga: StoredSaga, by: Conversion): StoredSaga {
  return convertRest(saga, by, undefined);
}

/** Steps that are converted before other work of the process has its turn. */
const STEPS_AT_ONCE = 1_000;

/** The same as `convertSaga`, in turns with other work if there are many steps. */
export async function convertInTurns(saga: StoredSaga, by: Conversion): Promise<StoredSaga> {
  const { id, state } = saga;
  if (state.steps.size <= STEPS_AT_ONCE) return convertSaga(saga, by);
  const builder = new StepMapBuilder();
  let isSame = true;
  let count = 0;
  for (const [key, step] of state.steps) {
    const after = convertStep(step, key, id, by);
    isSame &&= after === step;
    builder.add(key, after);
    count += 1;
    if (count % STEPS_AT_ONCE === 0) await nextTurn();
  }
  return convertRest(
    isSame ? saga : { ...saga, state: changeState(state, { steps: builder.build() }) },
    by,
    [],
  );
}

/** @param keys of the steps to convert, as `convertState` has it */
function convertRest(saga: StoredSaga, by: Conversion, keys: readonly string[] | undefined): StoredSaga {
  const { id, input, startedWith, state, cancelRequested, signals, operations } = saga;
  return changed(saga, {
    ...(saga.reports !== undefined && convertReports(saga, by)),
    input: json(input, { kind: 'input', sagaId: id }, by),
    startedWith: startedWith && convertInput(startedWith, id, by),
    state: convertState(state, id, keys, by),
    cancelRequested: cancelRequested && convertReason(cancelRequested, id, by),
    signals: signals && each(signals, (signal) => convertSignal(signal, by)),
    operations: operations && each(operations, (operation) => convertOperation(operation, id, by)),
  });
}

export function convertNewSaga<S extends NewSaga>(saga: S, by: Conversion): S {
  return convertInput(saga, saga.id, by);
}

function convertInput<S extends { readonly input?: string }>(given: S, sagaId: string, by: Conversion): S {
  return changed(given, { input: json(given.input, { kind: 'input', sagaId }, by) } as Partial<S>);
}

/** What steps report of their attempts is for the program that runs them, and may say anything of their data. */
export function convertReports<S extends { readonly id: string; readonly reports?: string }>(
  saga: S,
  by: Conversion,
): S {
  const reports = json(saga.reports, { kind: 'report', sagaId: saga.id }, by);
  return reports === saga.reports ? saga : { ...saga, reports };
}

export function convertCheckpoint(checkpoint: Checkpoint, by: Conversion): Checkpoint {
  const { id, starts, messages } = checkpoint;
  const state = convertState(storedState(checkpoint), id, writtenSteps(checkpoint), by);
  // Of most, and most have no codec.
  if (state === checkpoint.state && !starts && !messages) return checkpoint;
  return changed(checkpoint, {
    state,
    starts: starts && each(starts, (child) => convertNewSaga(child, by)),
    messages: messages && each(messages, (message) => convertMessage(message, by)),
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
export interface EditedSaga {
  readonly read: StoredSaga;
  readonly stored: StoredSaga;
}

/** Steps that the edit does not change stay as they are stored: an encoding may give another text each time. */
export function convertEdit(given: Edit, saga: EditedSaga, by: Conversion): Edit {
  const { id } = saga.stored;
  const operation = given.operation && convertOperation(given.operation, id, by);
  const edit: Edit = changed(given, { operation });
  if ('requestPause' in edit || 'proposal' in edit) return edit;
  if ('requestCancel' in edit)
    return changed(edit, { requestCancel: convertReason(edit.requestCancel, id, by) });
  if ('putBack' in edit) {
    const checkpoint = convertCheckpoint(edit.putBack.checkpoint, by);
    return { ...edit, putBack: { ...edit.putBack, checkpoint } };
  }
  if ('signal' in edit) return changed(edit, { signal: convertSignal(edit.signal, by) });
  const changes = differingSteps(saga.read.state.steps, edit.state.steps);
  const state = withStored(convertState(edit.state, id, changes, by), saga, changes);
  const input = json(edit.input, { kind: 'input', sagaId: id }, by);
  return changed(edit, { state, ...('input' in edit && { input }) });
}

export function convertSignal<S extends SentSignal>(signal: S, by: Conversion): S {
  const { payload, messageId } = signal;
  return changed(signal, { payload: json(payload, { kind: 'signal', messageId }, by) } as Partial<S>);
}

export function convertMessage<M extends { readonly id: string; readonly payload: string }>(
  message: M,
  by: Conversion,
): M {
  const payload = by.json(message.payload, { kind: 'message', messageId: message.id });
  return changed(message, { payload } as Partial<M>);
}

/** The text that a saga's row shows as its error. */
export function convertErrorText(text: string, sagaId: string, by: Conversion): string {
  return by.text(text, { kind: 'error', sagaId });
}

export function convertReason<R extends { readonly reason?: string }>(
  asked: R,
  sagaId: string,
  by: Conversion,
): R {
  const { reason } = asked;
  if (reason === undefined) return asked;
  return changed(asked, { reason: by.text(reason, { kind: 'reason', sagaId }) } as Partial<R>);
}

/** Why it was done, and what the call was given. */
export function convertOperation<O extends Operation>(operation: O, sagaId: string, by: Conversion): O {
  const told = convertReason(operation, sagaId, by);
  const { given, step, newInput } = told;
  if (given === undefined) return told;
  const context = newInput
    ? ({ kind: 'input', sagaId } as const)
    : ({ kind: 'result', sagaId, ...(step !== undefined && { step }) } as const);
  return changed(told, { given: by.json(given, context) } as Partial<O>);
}

/** @param keys of the steps, and items, to convert: the others stay as they are. Undefined: all are converted */
function convertState(
  state: SagaState,
  id: string,
  keys: readonly string[] | undefined,
  by: Conversion,
): SagaState {
  const { failure } = state;
  const steps = convertSteps(state.steps, id, keys, by);
  const rollbacks = convertRollbacks(state, id, by);
  const told = failure && convertFailure(failure, id, by);
  if (told === failure && steps === state.steps && !rollbacks) return state;
  return changeState(state, { failure: told, steps, ...rollbacks });
}

function convertSteps(
  steps: SagaState['steps'],
  id: string,
  keys: readonly string[] | undefined,
  by: Conversion,
): SagaState['steps'] {
  if (keys === undefined) return mapOfKinds(steps, ALL, (step, key) => convertStep(step, key, id, by));
  return keys.reduce((converted, key) => {
    const step = steps.get(key);
    const after = step && convertStep(step, key, id, by);
    return after === undefined || after === step ? converted : StepMap.with(converted, key, after);
  }, steps);
}

/** The other steps are the same, in their stored form. */
function withStored(state: SagaState, { read, stored }: EditedSaga, changes: readonly string[]): SagaState {
  if (read === stored) return state;
  const isChanged = new Set(changes);
  const steps = new Map(state.steps);
  for (const key of steps.keys()) if (!isChanged.has(key)) steps.set(key, stored.state.steps.get(key)!);
  return { ...state, steps };
}

/** Most sagas have none. */
function convertRollbacks(
  { pendingRollback, overtaken }: SagaState,
  id: string,
  by: Conversion,
): Pick<SagaState, 'pendingRollback' | 'overtaken'> | undefined {
  if (!pendingRollback && !overtaken) return undefined;
  return {
    ...(pendingRollback && {
      pendingRollback: changed(pendingRollback, { failure: convertFailure(pendingRollback.failure, id, by) }),
    }),
    ...(overtaken && { overtaken: convertReason(overtaken, id, by) }),
  };
}

function convertStep(step: StepState, key: string, sagaId: string, by: Conversion): StepState {
  const { items, wait, errors } = step;
  const result = json(step.result, { kind: 'result', sagaId, step: key }, by);
  // Of most steps that is all.
  if (items === undefined && wait === undefined && errors.length === 0)
    return result === step.result ? step : changeStep(step, { result });
  return changed(step, {
    result,
    items: items && each(items, (item, n) => by.json(item, { kind: 'item', sagaId, step: itemKey(key, n) })),
    wait: wait && changed(wait, { payload: json(wait.payload, { kind: 'signal', sagaId, step: key }, by) }),
    errors: each(errors, (error) => convertError(error, sagaId, by)),
  });
}

function convertFailure(failure: SagaFailure, sagaId: string, by: Conversion): SagaFailure {
  const { error } = failure;
  const told = convertReason(failure, sagaId, by);
  return changed(told, { error: error && convertError(error, sagaId, by) });
}

/** Its name and its code are the program's, and stay readable. The same for all errors of a saga: they move within it. */
function convertError<E extends SerializedError>(error: E, sagaId: string, by: Conversion): E {
  const { message, stack, cause } = error;
  const context = { kind: 'error', sagaId } as const;
  return changed(error, {
    message: by.text(message, context),
    stack: stack === undefined ? undefined : by.text(stack, context),
    cause: cause && convertError(cause, sagaId, by),
  } as Partial<E>);
}

function json(text: string | undefined, context: PayloadContext, by: Conversion): string | undefined {
  return text === undefined ? undefined : by.json(text, context);
}

function changed<T extends object>(value: T, changes: Partial<T>): T {
  let copy: T | undefined;
  for (const name of Object.keys(changes) as (keyof T)[])
    if (changes[name] !== value[name]) (copy ??= { ...value })[name] = changes[name]!;
  return copy ?? value;
}

function each<T>(list: readonly T[], convert: (value: T, index: number) => T): readonly T[];
function each<T>(list: T[], convert: (value: T, index: number) => T): T[];
function each<T>(list: readonly T[], convert: (value: T, index: number) => T): readonly T[] {
  const converted = list.map(convert);
  return converted.some((value, n) => value !== list[n]) ? converted : list;
}
