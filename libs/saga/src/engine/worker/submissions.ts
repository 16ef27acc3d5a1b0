import type { Clock } from '../../shared/clock.js';
import type { StoreClock } from '../../shared/store-clock.js';
import type { StartResult } from '../ports/saga-store.js';
import { INITIAL, changeState } from '../../machine/saga-state.js';
import type { Parts } from '../../shared/parts.js';
import type { Lease, NewSaga, StoredSaga } from '../ports/stored-saga.js';
import type { SagaWriters } from '../write/saga-writers.js';
import type { Worker } from './worker.js';

/** A saga that is to be stored. Whether this process takes its lease is decided here. */
export type SubmittedSaga = Omit<NewSaga, 'leased'>;

export interface SubmissionsPorts {
  readonly writers: Pick<SagaWriters, 'start'>;
  readonly lease: Lease;
  /** Undefined: this process runs no sagas. */
  readonly worker: Worker | undefined;
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  /** Announces a saga that may be due to the worker of this process and to other processes. */
  readonly announceDue: () => void;
}

/** Stores new sagas. If the worker has room, a saga is stored with its lease taken, and the worker runs it without a claim. */
export class Submissions {
  constructor(private readonly ports: SubmissionsPorts) {}

  async submit(saga: SubmittedSaga): Promise<StartResult> {
    const { worker, writers, lease, clock, storeClock } = this.ports;
    const waits = saga.delay !== undefined || saga.startAt !== undefined;
    const mayLease = !waits && saga.lockKey === undefined;
    const leased = mayLease && (worker?.reserve(saga) ?? false);
    const sent = new SentStart(saga, leased);
    const sentAt = clock.monotonic();
    let result: StartResult;
    try {
      result = await writers.start(sent);
    } catch (error) {
      if (leased) worker!.unreserve();
      throw error;
    }
    if (result.created) storeClock.observe(result.now, sentAt);
    if (leased) {
      const run = result.created && result.leased ? new StartedSaga(sent, lease, result.now) : undefined;
      worker!.runReserved(run, sentAt);
    } else if (result.created) {
      if (waits && worker?.runsHere(saga))
        worker.expect(saga.startAt ?? storeClock.now() + (saga.delay ?? 0));
      // Also if it is due later: a claim returns when the next saga is due.
      else this.ports.announceDue();
    }
    return result;
  }
}

/** A saga as it is sent to be stored for the first time. A class, since it lives long: see NOTHING. */
class SentStart implements Parts<NewSaga> {
  readonly id: NewSaga['id'];
  readonly fresh: NewSaga['fresh'];
  readonly name: NewSaga['name'];
  readonly version: NewSaga['version'];
  readonly correlationId: NewSaga['correlationId'];
  readonly input: NewSaga['input'];
  readonly priority: NewSaga['priority'];
  readonly tags: NewSaga['tags'];
  readonly delay: NewSaga['delay'];
  readonly startAt: NewSaga['startAt'];
  readonly timeout: NewSaga['timeout'];
  readonly sla: NewSaga['sla'];
  readonly step: NewSaga['step'];
  readonly lockKey: NewSaga['lockKey'];
  readonly lockRejects: NewSaga['lockRejects'];
  readonly limitKey: NewSaga['limitKey'];

  constructor(
    saga: Omit<NewSaga, 'leased'>,
    readonly leased: boolean,
  ) {
    this.id = saga.id;
    this.fresh = saga.fresh;
    this.name = saga.name;
    this.version = saga.version;
    this.correlationId = saga.correlationId;
    this.input = saga.input;
    this.priority = saga.priority;
    this.tags = saga.tags;
    this.delay = saga.delay;
    this.startAt = saga.startAt;
    this.timeout = saga.timeout;
    this.sla = saga.sla;
    this.step = saga.step;
    this.lockKey = saga.lockKey;
    this.lockRejects = saga.lockRejects;
    this.limitKey = saga.limitKey;
  }
}

const NO_TIMES: StoredSaga['stepTimes'] = new Map();

/** A saga that one statement has stored and leased, as the store would return it. A class, since it lives long: see NOTHING. */
class StartedSaga implements StoredSaga {
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
