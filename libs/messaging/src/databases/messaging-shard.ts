import { Logger } from '@nestjs/common';
import type { SagaDatabase } from 'nestjs-durable-saga/database';
import type { StoredShard } from 'nestjs-durable-saga/internal';
import {
  type EngineSql,
  type NamedRow,
  PostgresShardRow,
  ShardHealth,
  type ShardPlace,
  homeOf,
  isOutage,
  isTransientError,
} from 'nestjs-durable-saga/internal/runtime';
import { MessagingDatabase, type MessagingParts } from './messaging-database.js';

const CLOSED = new Error('it is closed');

/** One shard of an application's messages: its database may be lost, or reached later than the others. */
export class MessagingShard {
  /** The database of the options. */
  readonly database: SagaDatabase;
  readonly schema: string;
  private readonly parts: MessagingParts;
  private readonly health: ShardHealth;
  private sql: EngineSql | undefined;
  private messaging: MessagingDatabase | undefined;
  private begun = false;
  private closing: Promise<void> | undefined;

  constructor(
    readonly name: string,
    { database, schema }: ShardPlace,
    parts: Omit<MessagingParts, 'log'>,
  ) {
    this.database = database;
    this.schema = schema;
    this.health = new ShardHealth(name);
    const { poller } = parts;
    this.parts = {
      ...parts,
      options: { ...parts.options, schema },
      log: new Logger(`SagaMessagingModule ${name}`),
      poller: {
        start: (interval, tick, what) => poller.start(interval, tick, `${what}:${name}`),
        stop: (what) => poller.stop(`${what}:${name}`),
      },
    };
  }

  /** Undefined: it could not be reached since this process has started. */
  get opened(): MessagingDatabase | undefined {
    return this.messaging;
  }

  /**
   * Prepares the tables, and reads what the database says of itself. Undefined: it cannot be reached.
   * @throws SagaConfigurationError
   */
  async connect(): Promise<NamedRow | undefined> {
    try {
      homeOf(this.database.pool).takeAll();
      this.sql ??= await MessagingDatabase.prepare(this.database, this.parts);
      const rows = new PostgresShardRow(this.sql, this.schema);
      return { name: this.name, rows, row: await rows.read(), place: await rows.place() };
    } catch (error) {
      if (!isTransientError(error)) throw error;
      this.health.lost(error);
      return undefined;
    }
  }

  /** Starts its relay if the application runs. Once, unless the shard is closed in between. */
  async open({ closed }: StoredShard): Promise<void> {
    if (this.messaging) return;
    if (closed) return this.health.lost(CLOSED);
    await this.closing;
    this.messaging = new MessagingDatabase(this.sql!, this.parts);
    if (this.begun) await this.messaging.begin();
  }

  async begin(): Promise<void> {
    this.begun = true;
    await this.messaging?.begin();
  }

  /** Learns whether the shard was closed. */
  async look(): Promise<void> {
    const { messaging } = this;
    const row = await new PostgresShardRow(this.sql!, this.schema).read().catch(() => undefined);
    if (!row?.closed || !messaging || messaging !== this.messaging) return;
    this.messaging = undefined;
    this.health.lost(CLOSED);
    this.closing = messaging.drain();
  }

  async drain(): Promise<void> {
    await this.closing;
    await this.messaging?.drain();
  }

  /** @throws SagaShardUnavailableError if the database cannot be reached */
  async ask<T>(call: (database: MessagingDatabase) => Promise<T>): Promise<T> {
    if (!this.messaging) throw this.health.error;
    try {
      return await call(this.messaging);
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.health.lost(error);
      throw this.health.error;
    }
  }
}
