import type { EngineLog } from '../engine/ports/engine-log.js';
import type { SagaPoller } from '../nest/maintenance/saga.poller.js';
import type { PostgresInbox } from '../store/postgres/outbox/postgres-inbox.js';
import type { PostgresOutbox } from '../store/postgres/outbox/postgres-outbox.js';
import type { ResolvedMessagingOptions } from './messaging.options.js';

/** The name of the interval that deletes old messages, among the application's scheduled intervals. */
export const RETENTION_INTERVAL = 'saga:retention';

/** Milliseconds between two deletions, at most. */
const EVERY = 60_000;
/** Rows that are deleted at once, so that no statement takes long. */
const AT_ONCE = 1_000;

/** Deletes what need not be remembered any longer, in small batches. */
export class Retention {
  private deleting: Promise<void> | undefined;
  private stopped = false;

  constructor(
    private readonly outbox: PostgresOutbox,
    private readonly inbox: PostgresInbox,
    private readonly options: ResolvedMessagingOptions,
    private readonly poller: Pick<SagaPoller, 'start' | 'stop'>,
    private readonly log: EngineLog,
  ) {}

  start(): void {
    const { inboxRetention, outboxRetention = Infinity } = this.options;
    const every = Math.min(EVERY, Math.max(10, inboxRetention), Math.max(10, outboxRetention));
    this.poller.start(every, () => void this.tick(), RETENTION_INTERVAL);
  }

  /** Deletes all that is old enough now. */
  async tick(): Promise<void> {
    this.deleting ??= this.deleteAll().finally(() => (this.deleting = undefined));
    await this.deleting;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.poller.stop(RETENTION_INTERVAL);
    await this.deleting;
  }

  private async deleteAll(): Promise<void> {
    const { inboxRetention, outboxRetention } = this.options;
    try {
      await this.whileSome(() => this.inbox.forget(inboxRetention, AT_ONCE));
      if (outboxRetention !== undefined)
        await this.whileSome(() => this.outbox.deleteOlder(outboxRetention, AT_ONCE));
    } catch (error) {
      this.log.warn(
        `Old messages could not be deleted; the next run tries again: ${(error as Error).message}`,
      );
    }
  }

  private async whileSome(deleteSome: () => Promise<number>): Promise<void> {
    while (!this.stopped && (await deleteSome()) > 0);
  }
}
