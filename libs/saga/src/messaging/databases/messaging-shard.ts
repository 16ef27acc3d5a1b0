import { Logger } from '@nestjs/common';
import type { NamedRow } from '../../nest/shards/register-shards.js';
import { ShardHealth } from '../../shards/shard-health.js';
import type { EngineSql } from '../../store/postgres/connection/engine-sql.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
import { isTransientError } from '../../store/postgres/connection/transient-errors.js';
import { PostgresShardRow } from '../../store/postgres/shards/postgres-shard-row.js';
import { MessagingDatabase, type MessagingParts } from './messaging-database.js';

/** One shard of an application's messages: its database may be lost, or reached later than the others. */
export class MessagingShard {
  private readonly parts: MessagingParts;
  private readonly health: ShardHealth;
  private sql: EngineSql | undefined;
  private database: MessagingDatabase | undefined;
  private begun = false;

  constructor(
    readonly name: string,
    /** The database of the options. */
    readonly given: SagaDatabase,
    parts: Omit<MessagingParts, 'log'>,
  ) {
    this.health = new ShardHealth(name);
    const { poller } = parts;
    this.parts = {
      ...parts,
      log: new Logger(`SagaMessagingModule ${name}`),
      poller: {
        start: (interval, tick, what) => poller.start(interval, tick, `${what}:${name}`),
        stop: (what) => poller.stop(`${what}:${name}`),
      },
    };
  }

  /** Undefined: it could not be reached since this process has started. */
  get opened(): MessagingDatabase | undefined {
    return this.database;
  }

  /**
   * Prepares the tables, and reads what the database says of itself. Undefined: it cannot be reached.
   * @throws SagaConfigurationError
   */
  async connect(): Promise<NamedRow | undefined> {
    try {
      this.sql ??= await MessagingDatabase.prepare(this.given, this.parts);
      const rows = new PostgresShardRow(this.sql, this.parts.options.schema);
      return { name: this.name, rows, row: await rows.read() };
    } catch (error) {
      if (!isTransientError(error)) throw error;
      this.health.lost(error);
      return undefined;
    }
  }

  /** Starts its relay if the application runs. Once. */
  async open(): Promise<void> {
    if (this.database) return;
    this.database = new MessagingDatabase(this.sql!, this.parts);
    if (this.begun) await this.database.begin();
  }

  async begin(): Promise<void> {
    this.begun = true;
    await this.database?.begin();
  }

  /** @throws SagaShardUnavailableError if the database cannot be reached */
  async ask<T>(call: (database: MessagingDatabase) => Promise<T>): Promise<T> {
    if (!this.database) throw this.health.error;
    try {
      return await call(this.database);
    } catch (error) {
      if (!isTransientError(error)) throw error;
      this.health.lost(error);
      throw this.health.error;
    }
  }
}
