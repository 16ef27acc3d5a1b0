import type { EngineSql } from '../connection/engine-sql.js';
import type { Sql } from '../connection/sql.js';
import type { Writes } from '../statements.js';
import { CHECKPOINT_ARGUMENTS } from './checkpoint-parameters.js';
import { START_ARGUMENTS } from '../start/start-parameters.js';
import { type Select, setting } from './select.js';
import { isUnprepared } from '../connection/transient-errors.js';
import { withoutParameters } from '../connection/redact-message.js';

/** What is sent as a prepared statement, with its name behind the schema's: 63 characters at most, as PostgreSQL keeps them. */
const PREPARED: { readonly [Name in keyof Writes]?: string } = {
  ...{ start: 'start', startOne: 'startOne', checkpoint: 'checkpoint', checkpointOne: 'checkpointOne' },
  ...{ startRelaxed: 'start~', startOneRelaxed: 'startOne~' },
  ...{ checkpointRelaxed: 'checkpoint~', checkpointOneRelaxed: 'checkpointOne~' },
};

/** One of the store's calls, and what it is given. */
export interface StoreCall {
  readonly statement: keyof Writes;
  /** Default: the statement's own. */
  readonly select?: Select;
  readonly parameters: unknown[];
}

/** For the rest of the transaction; see StatementWatchdog. */
export const IDLE_TIMEOUT = 'idle_in_transaction_session_timeout';

/** Sends what every start and every checkpoint costs. */
export class PreparedCalls {
  private prepares = true;

  constructor(
    private readonly sql: EngineSql,
    private readonly schema: string,
    private readonly writes: Writes,
  ) {}

  /**
   * Sends what the first saga of a process sends, but for no saga, so that nothing is stored. PostgreSQL parses and plans it,
   * on the connection of the pool that is free, which takes 3 ms for each of three statements; afterwards each takes 0.5 ms.
   */
  async prepare(): Promise<void> {
    await this.send(this.sql, { statement: 'startOne', parameters: [...nulls(START_ARGUMENTS - 1), true] });
    for (const fresh of [true, false]) {
      const parameters = [...nulls(CHECKPOINT_ARGUMENTS - 1), fresh];
      await this.send(this.sql, { statement: 'checkpointOne', parameters });
    }
  }

  /**
   * Inserts rows that are expected to be new without looking for them, which costs less. If a row exists, because an
   * earlier try arrived and its acknowledgement did not, the call is repeated as an upsert.
   */
  async insertOrUpsert<Row>(
    sql: Sql,
    fresh: boolean,
    call: (fresh: boolean) => StoreCall,
    idleTimeout?: number,
  ): Promise<Row[]> {
    // A statement that fails ends the transaction that it is part of.
    if (!fresh || sql !== this.sql) return this.send<Row>(sql, call(false), idleTimeout);
    try {
      return await this.send<Row>(sql, call(true), idleTimeout);
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      return this.send<Row>(sql, call(false), idleTimeout);
    }
  }

  /**
   * The hot path goes to the application's pool directly, as a prepared statement: on an idle server a fifth of the
   * time of such a call was spent on parsing it. Behind a pooler that does not know of prepared statements it is
   * sent plainly.
   */
  private async send<Row>(sql: Sql, call: StoreCall, idleTimeout?: number): Promise<Row[]> {
    const { statement, parameters } = call;
    const { text } = withIdleTimeout(call.select ?? this.writes[statement], idleTimeout);
    const isPlain = idleTimeout === undefined && call.select === undefined;
    const name = isPlain ? PREPARED[statement] : undefined;
    if (name === undefined || sql !== this.sql) return sql.query(text, parameters);
    return this.sendPrepared<Row>(name, text, parameters);
  }

  private async sendPrepared<Row>(name: string, text: string, parameters: unknown[]): Promise<Row[]> {
    const { sql } = this;
    if (!this.prepares) return sql.query(text, parameters);
    sql.logger?.logQuery(text);
    try {
      const { rows } = await sql.watchdog.send<Row>({
        name: `${this.schema}.${name}`,
        text,
        values: parameters,
      });
      return rows;
    } catch (error) {
      if (!isUnprepared(error)) throw withoutParameters(error as Error);
      this.prepares = false;
      return sql.query(text, parameters);
    }
  }
}

const nulls = (count: number): null[] => Array.from({ length: count }, () => null);

function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: unknown }).code === '23505';
}

/** In the same round trip; a number, so it can be written out. */
function withIdleTimeout(select: Select, timeout: number | undefined): Select {
  return timeout === undefined ? select : select.with(setting(IDLE_TIMEOUT, `'${timeout}'`));
}
