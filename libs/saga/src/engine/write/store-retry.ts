import { SagaUnavailableError } from '../../errors.js';
import { type Clock, sleep } from '../../shared/clock.js';
import { transientWait } from '../../shared/transient-wait.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaStore } from '../ports/saga-store.js';

/** Milliseconds for which start() and other calls are retried after transient database errors. */
export const CALL_MAX_WAIT_MS = 30_000;

export interface StoreRetryPorts {
  readonly store: Pick<SagaStore, 'isTransient'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: EngineLog;
  /** What has to be put back after a failover before anything else is sent. Default, and undefined: nothing. */
  readonly recovered?: () => Promise<void> | undefined;
}

/** Retries calls of the store after transient errors, and logs once when an outage of the database begins and ends. */
export class StoreRetry {
  private outage = false;

  constructor(private readonly ports: StoreRetryPorts) {}

  /**
   * Retries a call that may be repeated.
   * @throws SagaUnavailableError after 30 s of transient errors
   */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const { store, clock, random } = this.ports;
    const until = clock.monotonic() + CALL_MAX_WAIT_MS;
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.reached(call);
      } catch (error) {
        if (!store.isTransient(error)) throw error;
        if (clock.monotonic() > until) {
          throw new SagaUnavailableError(`The database could not be reached: ${(error as Error).message}.`, {
            cause: error,
          });
        }
        this.failed(error);
        await sleep(clock, transientWait(tries, random()));
      }
    }
  }

  /** Makes a call, and logs that an outage has ended once it succeeds. */
  async reached<T>(call: () => Promise<T>): Promise<T> {
    const recovered = this.ports.recovered?.();
    if (recovered) await recovered;
    const result = await call();
    if (this.outage) {
      this.outage = false;
      this.ports.log.log('The database can be reached again');
    }
    return result;
  }

  /** Logs that an outage has begun, unless one is in progress. */
  failed(error: unknown): void {
    if (!this.outage)
      this.ports.log.warn(`The database cannot be reached, retrying: ${(error as Error).message}`);
    this.outage = true;
  }
}
