import { INITIAL } from '../../machine/saga-state.js';
import type { Lease, NewSaga, StoredSaga } from '../ports/stored-saga.js';

const NO_TIMES: StoredSaga['stepTimes'] = new Map();

/** Returns a saga that one statement has stored and leased, as the store would return it. */
export function startedSaga(saga: NewSaga, lease: Lease, now: number): StoredSaga {
  return {
    ...saga,
    state: saga.timeout === undefined ? INITIAL : { ...INITIAL, deadline: now + saga.timeout },
    epoch: 1,
    checkpoints: 0,
    lockedBy: lease.worker,
    takeovers: 0,
    losses: 0,
    createdAt: now,
    updatedAt: now,
    stepTimes: NO_TIMES,
  };
}
