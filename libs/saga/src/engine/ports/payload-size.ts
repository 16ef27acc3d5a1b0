import type { SerializedError } from '../../definition/types/saga-failure.js';
import { type SagaState, type StepState, stepState } from '../../machine/saga-state.js';
import type { Checkpoint } from './checkpoint.js';
import type { NewSaga, SentSignal, StoredSaga } from './stored-saga.js';

// What users' payloads and errors add to a statement, in characters: all else that a row holds is small.

export const sizeOfStart = ({ input = '' }: Pick<NewSaga, 'input'>): number => input.length;

export const sizeOfSignal = ({ payload = '' }: Pick<SentSignal, 'payload'>): number => payload.length;

export function sizeOfSteps(state: SagaState, keys: readonly string[]): number {
  let size = 0;
  for (const key of keys) size += sizeOfStep(stepState(state, key));
  return size;
}

/** The size of what a checkpoint stores beside its steps. */
export function sizeOfOthers({ messages, starts }: Pick<Checkpoint, 'messages' | 'starts'>): number {
  let size = 0;
  for (const { payload } of messages ?? []) size += payload.length;
  for (const child of starts ?? []) size += sizeOfStart(child);
  return size;
}

/** What a worker holds in memory of a saga. */
export function sizeOfSaga({ input = '', state, signals }: StoredSaga): number {
  let size = input.length + sizeOfAll(state.steps);
  for (const signal of signals ?? []) size += sizeOfSignal(signal);
  return size;
}

/** The sizes of many steps, which are asked for several times. */
const KNOWN = new WeakMap<SagaState['steps'], number>();

function sizeOfAll(steps: SagaState['steps']): number {
  let size = KNOWN.get(steps);
  if (size !== undefined) return size;
  size = 0;
  steps.forEach((step) => (size! += sizeOfStep(step)));
  if (steps.size > MANY) KNOWN.set(steps, size);
  return size;
}

/** So many steps take less time to look at than to remember. */
const MANY = 1_000;

function sizeOfStep({ result, items, wait, errors }: StepState): number {
  let size = (result?.length ?? 0) + (wait?.payload?.length ?? 0);
  if (items) for (const item of items) size += item.length;
  for (const error of errors) size += sizeOfError(error);
  return size;
}

function sizeOfError({ message, stack = '', cause }: SerializedError): number {
  return ERROR_BYTES + message.length + stack.length + (cause ? sizeOfError(cause) : 0);
}

/** What an error takes beside its texts. */
const ERROR_BYTES = 200;

/** A saga of this size, or less, is small: a worker bounds how many of them it holds, and not their bytes. */
export const SMALL_SAGA = 32 * 1024;
