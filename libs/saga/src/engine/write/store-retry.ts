import { SagaUnavailableError, SagaValidationError } from '../../errors.js';
import type { Clock } from '../../shared/clock.js';
import { repeated } from '../../shared/transient-wait.js';
import type { EngineLog } from '../ports/engine-log.js';
import { Trouble } from '../observe/trouble.js';
import type { SagaStore } from '../ports/saga-store.js';

/** Milliseconds for which start() and other calls are retried while the database does not do its work. */
export const CALL_MAX_WAIT_MS = 30_000;

/** An outage may concern some statements only. It is over once no statement has failed for so long (ms). */
const OUTAGE_MIN_GAP_MS = 3_000;

export interface StoreRetryPorts {
  readonly store: Pick<SagaStore, 'isOutage' | 'isTransient' | 'refuses'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: EngineLog;
  /** What has to be put back after a failover before anything else is sent. Default, and undefined: nothing. */
  readonly recovered?: () => Promise<void> | undefined;
}

/**
 * Retries calls of the store during an outage of the database, and logs it: when it begins, every half minute while it lasts,
 * and when it ends. Whatever the database answers is an outage, unless it refuses the data of the call.
 */
export class StoreRetry {
  private readonly trouble: Trouble;
  /** Monotonic. */
  private failedAt = 0;

  constructor(private readonly ports: StoreRetryPorts) {
    this.trouble = new Trouble(ports, {
      what: 'A call to the server that stores the sagas',
      meanwhile: 'It is repeated until the server answers as it should, and no step fails meanwhile',
    });
  }

  /**
   * Retries a call that may be repeated.
   * @throws SagaUnavailableError after 30 s of an outage
   * @throws SagaValidationError if the database refuses what the call was given
   */
  run<T>(call: () => Promise<T>): Promise<T> {
    const { store, clock } = this.ports;
    const until = clock.monotonic() + CALL_MAX_WAIT_MS;
    const isRepeated = (error: unknown): boolean => {
      if (!store.isOutage(error)) throw asCallError(error, store);
      if (clock.monotonic() > until) {
        throw new SagaUnavailableError(
          `The server that stores the sagas could not be reached: ${(error as Error).message}.`,
          {
            cause: error,
          },
        );
      }
      this.failed(error);
      return true;
    };
    return repeated(() => this.reached(call), isRepeated, this.ports);
  }

  /** Makes a call, and logs that an outage has ended once it succeeds. */
  async reached<T>(call: () => Promise<T>): Promise<T> {
    const recovered = this.ports.recovered?.();
    if (recovered) await recovered;
    const result = await call();
    if (this.ports.clock.monotonic() - this.failedAt > OUTAGE_MIN_GAP_MS) this.trouble.over();
    return result;
  }

  /** Logs an outage. */
  failed(error: unknown): void {
    this.failedAt = this.ports.clock.monotonic();
    this.trouble.met(error);
  }
}

/** Returns the error of a call whose value the database refuses, and any other error as it is. */
export function asCallError(error: unknown, store: Pick<SagaStore, 'refuses'>): unknown {
  if (!store.refuses(error)) return error;
  const { message } = error as Error;
  return new SagaValidationError(
    `The server that stores the sagas refuses a value of the call: ${message}. Correct the value.`,
    {
      cause: error,
    },
  );
}
