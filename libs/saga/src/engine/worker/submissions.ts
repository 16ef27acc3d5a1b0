import type { Clock } from '../../shared/clock.js';
import type { StoreClock } from '../../shared/store-clock.js';
import type { StartResult } from '../ports/saga-store.js';
import type { Lease, NewSaga } from '../ports/stored-saga.js';
import type { SagaWriters } from '../write/saga-writers.js';
import { SentStart } from '../write/sent-start.js';
import { StartedSaga } from './started-saga.js';
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
