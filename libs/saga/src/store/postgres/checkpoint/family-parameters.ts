import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import { isTerminal } from '../../../machine/saga-state.js';
import { checkpointParameters } from './checkpoint-parameters.js';
import { publishParameters } from './publish-parameters.js';
import { startParameters } from '../start/start-parameters.js';

/** The arguments of checkpoint_family. */
export function familyParameters(checkpoint: Checkpoint, fresh: boolean): unknown[] {
  const { lock, parent, state, starts = [], messages = [] } = checkpoint;
  const ends = isTerminal(state.status);
  const handedOn = lock && ends ? [lock] : [];
  return [
    handedOn.map(({ name }) => name),
    handedOn.map(({ key }) => key),
    parent && ends ? parent.id : null,
    starts.map(({ parent: { step } }) => step),
    ...publishParameters(messages),
    ...startParameters(starts, starts),
    ...checkpointParameters([checkpoint], fresh),
  ];
}
