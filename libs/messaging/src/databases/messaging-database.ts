import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { SagaDatabase } from 'nestjs-durable-saga/database';
import { type EngineLog, wakeupChannel } from 'nestjs-durable-saga/internal';
import {
  type Coder,
  EngineSql,
  ListenWakeup,
  MESSAGING_NEEDS,
  PostgresInbox,
  type PostgresOutbox,
  type SagaObservers,
  type SagaPoller,
  prepareTables,
} from 'nestjs-durable-saga/internal/runtime';
import type { ResolvedMessagingOptions } from '../messaging.options.js';
import { CodedOutbox, decodingTransport } from '../relay/coded-outbox.js';
import { Relay } from '../relay/relay.js';

/** The name of the relay's poll among the application's scheduled intervals. */
export const RELAY_POLL_INTERVAL = 'saga:relay';

/** While hints arrive, only every so many polls look. */
const POLLS_WHILE_LISTENING = 5;

/** How long (ms) answers of PostgreSQL are waited for: a third of the lease, and no shorter than this. */
const SHORTEST_PATIENCE = 1_000;
const DEFAULT_LEASE = 30_000;

/** What the databases of a process share. */
export interface MessagingParts {
  readonly options: ResolvedMessagingOptions;
  readonly coder: Coder;
  readonly poller: Pick<SagaPoller, 'start' | 'stop'>;
  readonly observers: SagaObservers | undefined;
  readonly log: EngineLog;
}

/** The outbox and the inbox of one database, and the relay that sends its messages, in the life of the application. */
export class MessagingDatabase {
  readonly outbox: CodedOutbox;
  readonly inbox: PostgresInbox;
  readonly retention: Retention;
  private readonly channel: string;
  private readonly relay: Relay | undefined;
  private readonly wakeup: ListenWakeup | undefined;
  private polls = 0;

  constructor(
    private readonly sql: EngineSql,
    private readonly parts: MessagingParts,
  ) {
    const { options, coder, poller, log } = parts;
    const { schema } = options;
    this.channel = wakeupChannel(schema);
    this.outbox = new CodedOutbox(sql, schema, coder);
    this.inbox = new PostgresInbox(sql, schema);
    this.retention = new Retention(this.outbox, this.inbox, options, poller, log);
    if (!options.relay) return;
    const notify = (name: string, payload: string) => sql.query('SELECT pg_notify($1, $2)', [name, payload]);
    this.relay = this.relayOf(options.relay);
    this.wakeup = new ListenWakeup(sql.pool, this.channel, notify, log);
  }

  /**
   * Connects to a database, and prepares its tables.
   * @throws SagaConfigurationError
   */
  static async prepare(
    database: SagaDatabase,
    { options, log }: Pick<MessagingParts, 'options' | 'log'>,
  ): Promise<EngineSql> {
    const sql = new EngineSql(database);
    await prepareTables(sql, options, MESSAGING_NEEDS, log);
    return sql;
  }

  get database(): SagaDatabase {
    return this.sql.database;
  }

  async begin(): Promise<void> {
    const { relay, wakeup, retention } = this;
    const { options, poller } = this.parts;
    this.boundAnswers();
    retention.start();
    if (!relay || !wakeup || !options.relay) return;
    relay.start();
    // Before the wake-up, whose start takes a while: what starts after it was stopped would go on for ever.
    poller.start(
      options.relay.pollInterval,
      () => {
        this.polls += 1;
        if (!wakeup.listening || this.polls % POLLS_WHILE_LISTENING === 0) relay.look();
      },
      RELAY_POLL_INTERVAL,
    );
    await wakeup.start(({ type }) => {
      if (type === 'published' || type === 'missed') relay.look();
    });
  }

  async drain(): Promise<void> {
    this.parts.poller.stop(RELAY_POLL_INTERVAL);
    await Promise.all([this.relay?.stop(), this.wakeup?.stop(), this.retention.stop()]);
  }

  /** Tells every relay that there may be something to send. */
  announce(): Promise<void> {
    return this.outbox.announce(this.channel);
  }

  private relayOf(settings: NonNullable<ResolvedMessagingOptions['relay']>): Relay {
    const { coder, log, observers } = this.parts;
    const name = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
    const transport = decodingTransport(settings.transport, coder);
    const failed = (error: unknown) => observers?.measure('relayFailed', error);
    return new Relay(this.outbox, transport, { ...settings, name }, log, undefined, failed);
  }

  /** SagaModule, if it is there, has bounded them by its own lease. Migrations, which may take long, are over. */
  private boundAnswers(): void {
    const { relay } = this.parts.options;
    const { watchdog } = this.sql;
    if (!watchdog.bounded)
      watchdog.setStatementTimeout(Math.max(SHORTEST_PATIENCE, (relay?.lease ?? DEFAULT_LEASE) / 3));
  }
}

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
