import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineLog } from '../../engine/ports/engine-log.js';
import type { SagaPoller } from './saga.poller.js';

/** The pause after each transaction, in times of what it took: a quarter of a connection's time at most. */
const PAUSES = 3;

/** What workers do beside running sagas, in passes, one at a time, and without hurry. */
export abstract class Maintenance {
  private passing: Promise<void> | undefined;
  private readonly stopping = new AbortController();

  /** @param interval its name among the application's scheduled intervals */
  constructor(
    private readonly poller: Pick<SagaPoller, 'start' | 'stop'>,
    private readonly interval: string,
    protected readonly log: EngineLog,
  ) {}

  protected abstract pass(): Promise<void>;

  /** Aborts when it has to stop. */
  protected get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** From now on by itself, every so many milliseconds. */
  protected startPasses(every: number): void {
    this.poller.start(every, () => void this.tick(), this.interval);
  }

  /** A pass, or the rest of the one that is in progress. */
  async tick(): Promise<void> {
    this.passing ??= this.pass().finally(() => (this.passing = undefined));
    await this.passing;
  }

  /** Once the pass that is in progress has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.poller.stop(this.interval);
    await this.passing;
  }

  /**
   * After a transaction that took so many milliseconds.
   * @returns false if there is to be no other
   */
  protected async pause(took: number): Promise<boolean> {
    const { signal } = this;
    await sleep(took * PAUSES, undefined, { signal }).catch(() => undefined);
    return !signal.aborted;
  }
}
