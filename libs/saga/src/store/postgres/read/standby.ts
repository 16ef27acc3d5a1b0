import { SagaConfigurationError } from '../../../errors.js';
import { type Clock, systemClock } from '../../../shared/clock.js';
import type { EngineLog } from '../../../engine/ports/engine-log.js';
import { EngineSql } from '../connection/engine-sql.js';
import type { SagaDatabase } from '../connection/saga-database.js';
import { isTransientError } from '../connection/transient-errors.js';
import type { Sql } from '../connection/sql.js';

/** How long (ms) the primary answers instead after the standby has failed. */
const PAUSE = 10_000;

/**
 * The time (ms since the epoch) whose commits the standby shows: of the last commit that it has replayed, or, if it has
 * replayed everything that it was sent, of the primary's last message (roles without pg_read_all_stats do not see that).
 * Null: it is no standby, but a primary.
 */
const AS_OF = `
  SELECT (extract(epoch FROM CASE WHEN pg_is_in_recovery() THEN greatest(
    pg_last_xact_replay_timestamp(),
    (SELECT last_msg_send_time FROM pg_stat_wal_receiver WHERE latest_end_lsn <= pg_last_wal_replay_lsn())
  ) END) * 1000)::float8 AS as_of`;

const CLUSTER =
  'SELECT (SELECT system_identifier::text FROM pg_control_system()) AS cluster, current_database() AS name';

interface Cluster {
  readonly cluster: string;
  readonly name: string;
}

/** A value from the standby, or from the primary. */
export interface Dated<T> {
  readonly value: T;
  /** The time whose commits the value shows. Undefined: it is from the primary, or the standby does not know. */
  readonly asOf?: Date;
}

/** A standby that answers instead of the primary where an answer may be a little old. While it fails, the primary does. */
export class Standby {
  readonly sql: EngineSql;
  private pausedUntil = -Infinity;

  constructor(
    database: SagaDatabase,
    private readonly primary: EngineSql,
    /** How long (ms) it may take for an answer. */
    patience: number,
    private readonly log: Pick<EngineLog, 'log' | 'warn'>,
    private readonly clock: Clock = systemClock,
  ) {
    this.sql = new EngineSql(database);
    this.sql.watchdog.setStatementTimeout(patience);
  }

  /** @throws SagaConfigurationError if it is a database of another server */
  async check(): Promise<void> {
    let own: Cluster;
    try {
      own = await clusterOf(this.sql);
    } catch (error) {
      if (!isTransientError(error)) throw unreadable(error as Error);
      this.pause(error as Error);
      return;
    }
    const primary = await clusterOf(this.primary);
    if (own.cluster === primary.cluster && own.name === primary.name) return;
    throw new SagaConfigurationError(
      `SagaModule: readFrom leads to the database '${own.name}' of the server ${own.cluster}, but the sagas are in ` +
        `'${primary.name}' of ${primary.cluster}. Give a streaming standby of the sagas' server, with the same database.`,
    );
  }

  /** Reads from the standby, or from the primary while the standby fails. */
  async read<T>(onStandby: () => Promise<T>, onPrimary: () => Promise<T>): Promise<Dated<T>> {
    if (this.clock.monotonic() < this.pausedUntil) return { value: await onPrimary() };
    try {
      // Asked first: what is read afterwards is at least as new.
      const [row] = await this.sql.query<{ as_of: number | null }[]>(AS_OF);
      const value = await onStandby();
      this.resume();
      return { value, ...(row!.as_of !== null && { asOf: new Date(row!.as_of) }) };
    } catch (error) {
      this.pause(error as Error);
      return { value: await onPrimary() };
    }
  }

  private pause({ message }: Error): void {
    if (this.pausedUntil === -Infinity)
      this.log.warn(
        `The standby of readFrom cannot be read: ${message} Lists are read from the primary meanwhile.`,
      );
    this.pausedUntil = this.clock.monotonic() + PAUSE;
  }

  private resume(): void {
    if (this.pausedUntil === -Infinity) return;
    this.pausedUntil = -Infinity;
    this.log.log('Lists are read from the standby of readFrom again.');
  }
}

async function clusterOf(sql: Sql): Promise<Cluster> {
  const [row] = await sql.query<Cluster[]>(CLUSTER);
  return row!;
}

function unreadable(error: Error): SagaConfigurationError {
  return new SagaConfigurationError(
    `SagaModule: readFrom cannot be read: ${error.message} Give a streaming standby of the sagas' server.`,
    { cause: error },
  );
}
