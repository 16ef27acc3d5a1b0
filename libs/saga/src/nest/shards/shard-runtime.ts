import { serializeError } from '../../engine/payload/serialize-error.js';
import type { StoredShard } from '../../engine/ports/stored-shard.js';
import { SagaConfigurationError } from '../../errors.js';
import { newId } from '../../shared/new-id.js';
import { idOnShard } from '../../shards/shard-id.js';
import { Shard } from '../../shards/shard.js';
import { Coder } from '../../store/coded/coder.js';
import { convertWhoAndWhy } from '../../store/coded/private-fields.js';
import { homeOf } from '../../store/postgres/connection/home-database.js';
import type { EngineSql } from '../../store/postgres/connection/engine-sql.js';
import { concernsStatement, isOutage } from '../../store/postgres/connection/transient-errors.js';
import {
  PostgresShardRow,
  type ShardCall,
  type ShardChange,
} from '../../store/postgres/shards/postgres-shard-row.js';
import type { ShardPlace } from '../application-database.js';
import { databaseRuntime, type DatabaseRuntime, preparedSql } from '../database-runtime.js';
import { answerPatience, type ProcessParts } from '../engine-runtime.js';
import { SagaLog } from '../saga-log.js';
import type { NamedRow } from './register-shards.js';
import { inTime } from '../../shared/in-time.js';

/** One shard in the life of the application: the engine over its database, and whether the database can be reached. */
export class ShardRuntime {
  readonly shard: Shard;
  private readonly shared: ProcessParts;
  private connection: { readonly sql: EngineSql; readonly rows: PostgresShardRow } | undefined;
  private runtime: DatabaseRuntime | undefined;
  private begun = false;
  private looking: Promise<void> | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    readonly name: string,
    readonly place: ShardPlace,
    shared: Omit<ProcessParts, 'log'>,
    /** Whether the schedules of sagas run on this shard. */
    private readonly schedules: boolean,
  ) {
    this.shard = new Shard(name);
    const { poller } = shared;
    this.shared = {
      ...shared,
      options: { ...shared.options, schema: place.schema },
      log: new SagaLog(`SagaModule ${name}`),
      poller: {
        start: (interval, tick, what) => poller.start(interval, tick, `${what}:${name}`),
        stop: (what) => poller.stop(`${what}:${name}`),
      },
    };
  }

  /** Undefined: the database could not be reached since this process has started. */
  get opened(): DatabaseRuntime | undefined {
    return this.runtime;
  }

  /**
   * Prepares the tables, and reads what the database says of itself. Undefined: it cannot be reached.
   * @throws SagaConfigurationError
   */
  async connect(): Promise<NamedRow | undefined> {
    try {
      if (!this.connection) {
        homeOf(this.place.database.pool).takeAll();
        const sql = await preparedSql(this.place.database, this.shared);
        this.connection = { sql, rows: new PostgresShardRow(sql, this.place.schema) };
      }
      const { rows } = this.connection;
      const row = await rows.read();
      // With another first shard, each time of a schedule would start a saga on both.
      if (!this.schedules && row && !row.closed && (await rows.hasSchedules())) throw isNotFirst(this.name);
      return { name: this.name, rows, row, place: await rows.place() };
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      this.shard.health.lost(error);
      return undefined;
    }
  }

  /** Makes the engine, and starts it if the application runs. Once, unless the shard is closed in between. */
  async open(row: StoredShard): Promise<void> {
    if (this.runtime) return;
    if (row.closed) return this.shard.close(row);
    await this.closing;
    const { number } = row;
    this.runtime = await databaseRuntime(this.connection!.sql, this.shared, {
      newId: () => idOnShard(newId(), number),
      schedules: this.schedules,
    });
    this.shard.open(row, this.runtime.parts.engine);
    if (this.begun) await this.runtime.begin();
  }

  async begin(): Promise<void> {
    this.begun = true;
    await this.runtime?.begin();
  }

  tick(): void {
    this.runtime?.tick();
    void this.look();
  }

  async drain(): Promise<void> {
    await this.closing;
    await this.runtime?.drain();
  }

  /**
   * Makes a call on the row of the shard.
   * @throws SagaShardUnavailableError if it cannot be reached
   */
  async change(call: ShardCall, change: ShardChange): Promise<void> {
    const { health } = this.shard;
    if (!this.connection) throw health.error;
    const { rows } = this.connection;
    const encoded = convertWhoAndWhy(change, new Coder(this.shared.options.codec).encoding);
    try {
      await rows[call](encoded);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      health.lost(error);
      throw health.error;
    }
    await this.look();
  }

  /** Reads what the database says of itself, and so learns whether it can be reached. */
  look(): Promise<void> {
    if (!this.runtime) return Promise.resolve();
    this.looking ??= this.readRow().finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async readRow(): Promise<void> {
    const { health } = this.shard;
    try {
      // A connection of the pool may be a broken one.
      const row = await this.read().catch(() => this.read());
      if (row?.closed) this.close(row);
      else if (row) this.shard.read(row);
    } catch (error) {
      health.lost(error);
    }
  }

  /** Stops everything that this process does on the shard. */
  private close(row: StoredShard): void {
    const { runtime } = this;
    this.runtime = undefined;
    this.shard.close(row);
    this.closing = (async () => {
      await runtime?.drain();
      await runtime?.close();
    })().catch((error: unknown) =>
      this.shared.log.error(`The shard was closed, but not in order: ${serializeError(error).message}`),
    );
  }

  /** @throws if no answer comes in time */
  private async read(): Promise<StoredShard | undefined> {
    const { rows } = this.connection!;
    const patience = answerPatience(this.shared.options.lease);
    return inTime(patience, 'it', rows.read());
  }
}

/** Whether a shard is out of reach, and not set up wrong: it refuses logins, or does not exist for now, also. */
function isUnreachable(error: unknown): boolean {
  return isOutage(error) && !concernsStatement(error);
}

function isNotFirst(name: string): SagaConfigurationError {
  return new SagaConfigurationError(
    `SagaModule: the schedules are on the shard '${name}', and it is not the first one of shards. Put it first. To have ` +
      `them on another one, stop all processes, and delete the rows of its table schedule before they start again.`,
  );
}
