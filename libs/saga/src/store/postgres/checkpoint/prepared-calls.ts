import type { DataSource } from 'typeorm';
import type { StatementWatchdog } from '../connection/statement-watchdog.js';
import type { Sql } from '../connection/application-sql.js';
import type { Statements } from '../statements.js';
import { isUnprepared } from '../connection/transient-errors.js';
import { withoutValues } from '../connection/redact-message.js';

const HOT: ReadonlySet<keyof Statements> = new Set([
  ...(['start', 'startOne', 'checkpoint', 'checkpointOne'] as const),
  ...(['startRelaxed', 'startOneRelaxed', 'checkpointRelaxed', 'checkpointOneRelaxed'] as const),
]);

/** One of the store's statements, and what it is given. */
export interface StoreCall {
  readonly statement: keyof Statements;
  /** Default: the statement's own. */
  readonly text?: string;
  readonly parameters: unknown[];
}

/** For the rest of the transaction; see Answers. */
export const IDLE_TIMEOUT = `set_config('idle_in_transaction_session_timeout', $1, true)`;

/** Sends what every start and every checkpoint costs. */
export class PreparedCalls {
  private prepares = true;

  constructor(
    private readonly dataSource: DataSource,
    private readonly watchdog: StatementWatchdog,
    private readonly schema: string,
    private readonly sql: Statements,
  ) {}

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
    if (!fresh || sql !== this.dataSource) return this.send<Row>(sql, call(false), idleTimeout);
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
    const text = withIdleTimeout(call.text ?? this.sql[statement], idleTimeout);
    const isHot = idleTimeout === undefined && call.text === undefined && HOT.has(statement);
    if (!isHot || sql !== this.dataSource || !this.prepares) return sql.query(text, parameters);
    this.dataSource.logger.logQuery(text);
    try {
      const { rows } = await this.watchdog.send<Row>({
        name: `${this.schema}.${statement.replace('Relaxed', '~')}`, // 63 characters at most, as PostgreSQL keeps them
        text,
        values: parameters,
      });
      return rows;
    } catch (error) {
      if (!isUnprepared(error)) throw withoutValues(error);
      this.prepares = false;
      return sql.query(text, parameters);
    }
  }
}

function isUniqueViolation(error: unknown): boolean {
  return (error as { code?: unknown }).code === '23505';
}

/** In the same round trip; a number, so it can be written out. */
function withIdleTimeout(select: string, timeout: number | undefined): string {
  if (timeout === undefined) return select;
  return select.replace('SELECT', `SELECT ${IDLE_TIMEOUT.replace('$1', `'${timeout}'`)},`);
}
