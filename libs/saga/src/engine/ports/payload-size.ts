import { type SagaState, type StepState, stepState } from '../../machine/saga-state.js';
import type { Checkpoint } from './checkpoint.js';
import type { NewSaga, SentSignal, StoredSaga } from './stored-saga.js';

// What users' payloads add to a statement, in characters: all else that a row holds is small.

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
  let size = input.length;
  for (const step of state.steps.values()) size += sizeOfStep(step);
  for (const signal of signals ?? []) size += sizeOfSignal(signal);
  return size;
}

function sizeOfStep({ result, items, wait }: StepState): number {
  let size = (result?.length ?? 0) + (wait?.payload?.length ?? 0);
  if (items) for (const item of items) size += item.length;
  return size;
}

/** A saga of this size, or less, is small: a worker bounds how many of them it holds, and not their bytes. */
export const SMALL_SAGA = 32 * 1024;
