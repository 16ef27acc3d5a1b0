import type { Checkpoint } from '../../engine/saga-store.js';
import { isTerminal } from '../../machine/saga-state.js';
import { checkpointParameters } from './checkpoint-parameters.js';
import { START_COLUMNS } from './functions/start.function.js';
import { publishParameters } from './publish-parameters.js';
import { startParameters } from './start-parameters.js';

/** The arguments of checkpoint_family_1. */
export function familyParameters(checkpoint: Checkpoint): unknown[] {
  const { lock, parent, state, starts = [], messages = [] } = checkpoint;
  const ends = isTerminal(state.status);
  const handedOn = lock && ends ? [lock] : [];
  const children =
    starts.length > 0 ? startParameters(starts, starts) : Array.from({ length: START_COLUMNS }, () => []);
  return [
    handedOn.map(({ name }) => name),
    handedOn.map(({ key }) => key),
    parent && ends ? parent.id : null,
    starts.map(({ parent: { step } }) => step),
    ...publishParameters(messages),
    ...children,
    ...checkpointParameters([checkpoint]),
  ];
}
