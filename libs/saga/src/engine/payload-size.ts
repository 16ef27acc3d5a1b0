import { stepState } from '../machine/saga-state.js';
import type { Checkpoint, NewSaga, SentSignal } from './saga-store.js';

// What users' payloads add to a statement, in characters: all else that a row holds is small.

export const sizeOfStart = ({ input = '' }: Pick<NewSaga, 'input'>): number => input.length;

export const sizeOfSignal = ({ payload = '' }: Pick<SentSignal, 'payload'>): number => payload.length;

export function sizeOfCheckpoint({ changed, state, messages, starts }: Checkpoint): number {
  let size = 0;
  for (const name of changed) {
    const { result, items } = stepState(state, name);
    if (result !== undefined) size += result.length;
    for (const item of items ?? []) size += item.length;
  }
  for (const { payload } of messages ?? []) size += payload.length;
  for (const child of starts ?? []) size += sizeOfStart(child);
  return size;
}
