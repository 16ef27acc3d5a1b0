import { SagaShardUnavailableError, SagaTransactionError } from 'nestjs-durable-saga';
import type { JoinedTransaction, TransactionOpener } from 'nestjs-durable-saga/database';
import { serializeError } from 'nestjs-durable-saga/internal';
import {
  type ShardPlace,
  connectShards,
  joinOneOf,
  schemaOfStep,
  sendWithin,
  shardsOfTransaction,
} from 'nestjs-durable-saga/internal/runtime';
import type { MessagingDatabase, MessagingParts } from './messaging-database.js';
import type { DatabaseAnswers, MessagingDatabases } from './messaging-databases.js';
import { MessagingShard } from './messaging-shard.js';

/** The interval in which shards are looked at, and connected to if they could not be reached, among the scheduled intervals. */
const LOOK_INTERVAL = 'saga:relay-shards';
/** Milliseconds. */
const DEFAULT_INTERVAL = 1_000;

/** The shards of an application's messages, each with an outbox, an inbox and a relay. */
export class MessagingShards implements MessagingDatabases {
  /** The shards in whose database connections are in whose transactions something was stored. */
  private readonly shardsOf = new WeakMap<object, readonly MessagingShard[]>();
  private readonly shards: readonly MessagingShard[];
  private connecting: Promise<unknown> | undefined;
  private refusal: string | undefined;

  private constructor(
    places: ReadonlyMap<string, ShardPlace>,
    private readonly parts: MessagingParts,
  ) {
    this.shards = [...places].map(([name, place]) => new MessagingShard(name, place, parts));
  }

  /** @throws SagaConfigurationError, or SagaShardUnavailableError if no shard can be reached */
  static async over(
    places: ReadonlyMap<string, ShardPlace>,
    parts: MessagingParts,
  ): Promise<MessagingShards> {
    const shards = new MessagingShards(places, parts);
    await shards.connect();
    if (shards.all.length === 0) await shards.shards[0]!.ask(() => Promise.resolve());
    return shards;
  }

  get all(): readonly MessagingDatabase[] {
    return this.shards.flatMap(({ opened }) => opened ?? []);
  }

  async begin(): Promise<void> {
    for (const shard of this.shards) await shard.begin();
    const { poller, options } = this.parts;
    poller.start(options.relay?.pollInterval ?? DEFAULT_INTERVAL, () => this.look(), LOOK_INTERVAL);
  }

  async drain(): Promise<void> {
    this.parts.poller.stop(LOOK_INTERVAL);
    await this.connecting;
    await Promise.all(this.shards.map((shard) => shard.drain()));
  }

  join(transaction: unknown): JoinedTransaction {
    return joinOneOf(this.shards, transaction);
  }

  opener(source: unknown): TransactionOpener | undefined {
    for (const { database } of this.shards) {
      const open = database.opener(source);
      if (open) return open;
    }
    return undefined;
  }

  /** Returns the shard of the step whose transaction it is, or else the first shard in the database of the transaction. */
  async databaseOf(joined: JoinedTransaction): Promise<MessagingDatabase> {
    const [shard] = await this.shardsIn(joined);
    if (shard) return shard.ask(async (database) => database);
    throw new SagaTransactionError(
      `The transaction is not open in the database of a shard. Open it on the database of one of ` +
        `${this.shards.map((one) => one.name).join(', ')}.`,
    );
  }

  /** @throws SagaShardUnavailableError if no shard can be reached */
  async ask<T>(call: (database: MessagingDatabase) => Promise<T>): Promise<DatabaseAnswers<T>> {
    const answers: T[] = [];
    const unavailable: SagaShardUnavailableError[] = [];
    for (const asked of await Promise.allSettled(this.shards.map((shard) => shard.ask(call)))) {
      if (asked.status === 'fulfilled') answers.push(asked.value);
      else if (asked.reason instanceof SagaShardUnavailableError) unavailable.push(asked.reason);
      else throw asked.reason;
    }
    if (answers.length === 0) throw unavailable[0]!;
    return { answers, unavailable };
  }

  /** A connection stays on its database, so that each is asked once. */
  private async shardsIn(joined: JoinedTransaction): Promise<readonly MessagingShard[]> {
    const connection = await joined.connection();
    const own = schemaOfStep(connection);
    const known = connection && this.shardsOf.get(connection);
    if (known) return own === undefined ? known : known.filter(({ schema }) => schema === own);
    const found = await sendWithin(joined, 'The message', () => shardsOfTransaction(joined, this.shards));
    // In the transaction of a step, others are left out.
    if (connection && own === undefined && found.length > 0) this.shardsOf.set(connection, found);
    return found;
  }

  /** Opens the shards that can be reached. */
  private async connect(): Promise<void> {
    const rows = await connectShards(this.shards, 'SagaMessagingModule');
    // Without a row, not all shards can be reached: it is not certain which one this database is.
    for (const [n, named] of rows.entries()) if (named?.row) await this.shards[n]!.open(named.row);
  }

  private look(): void {
    for (const shard of this.shards) if (shard.opened) void shard.look();
    if (this.all.length === this.shards.length) return;
    this.connecting ??= this.connect()
      .then(() => (this.refusal = undefined))
      .catch((error: unknown) => this.refused(serializeError(error).message))
      .then(() => (this.connecting = undefined));
  }

  /** Logs a refusal once. The set-up is tried again at each interval. */
  private refused(message: string): void {
    if (message !== this.refusal) this.parts.log.error(`A shard could not be set up: ${message}`);
    this.refusal = message;
  }
}
