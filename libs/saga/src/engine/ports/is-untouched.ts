import type { StoredSaga } from './stored-saga.js';

/** No worker has begun with it, as far as is recorded. */
export function isUntouched({
  state,
  checkpoints,
  takeovers,
}: Pick<StoredSaga, 'state' | 'checkpoints' | 'takeovers'>): boolean {
  return checkpoints === 0 && takeovers === 0 && state.status === 'running' && state.steps.size === 0;
}

/**
 * The graph of the process that runs it is the one that counts for it: no worker has begun with it, or is about to, and it
 * keeps no other graph.
 */
export function adoptsGraph(
  saga: Pick<StoredSaga, 'state' | 'checkpoints' | 'takeovers' | 'lockedBy' | 'graphRevision'>,
): boolean {
  return isUntouched(saga) && saga.lockedBy === undefined && saga.graphRevision === undefined;
}
