import { changeState } from '../../machine/change-state.js';
import { INITIAL } from '../../machine/saga-state.js';
import type { Lease, NewSaga, StoredSaga } from '../ports/stored-saga.js';

const NO_TIMES: StoredSaga['stepTimes'] = new Map();

/** A saga that one statement has stored and leased, as the store would return it. A class, since it lives long: see NOTHING. */
export class StartedSaga implements StoredSaga {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly correlationId: string | undefined;
  readonly input: string | undefined;
  readonly priority: number;
  tags: StoredSaga['tags'];
  readonly limitKey: string | undefined;
  readonly state: StoredSaga['state'];
  readonly epoch = 1;
  readonly checkpoints = 0;
  readonly lockedBy: string;
  readonly takeovers = 0;
  readonly losses = 0;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly stepTimes = NO_TIMES;

  /** @param now the database's time */
  constructor(saga: NewSaga, lease: Lease, now: number) {
    this.id = saga.id;
    this.name = saga.name;
    this.version = saga.version;
    this.correlationId = saga.correlationId;
    this.input = saga.input;
    this.priority = saga.priority;
    this.tags = saga.tags;
    this.limitKey = saga.limitKey;
    this.state =
      saga.timeout === undefined ? INITIAL : changeState(INITIAL, { deadline: now + saga.timeout });
    this.lockedBy = lease.worker;
    this.createdAt = now;
    this.updatedAt = now;
  }
}
