import type { JoinedTransaction } from '../connection/saga-database.js';
import type { Sql } from '../connection/sql.js';
import { sendWithin } from '../connection/transaction-watch.js';

/** serialization_failure */
const SERIALIZATION_FAILURE = '40001';

/** PostgreSQL's error for a caller whose own transaction has such a level: the transaction must be repeated. */
export class NotedMeanwhile extends Error {
  readonly code = SERIALIZATION_FAILURE;

  constructor(readonly driverError: Error) {
    super(driverError.message, { cause: driverError });
    this.name = 'QueryFailedError';
  }
}

/** The journal of the messages that were handled. */
export class PostgresInbox {
  private readonly schema: string;

  constructor(
    private readonly sql: Sql,
    schema: string,
  ) {
    this.schema = `"${schema}"`;
  }

  /**
   * Notes the message in the caller's transaction; false: it is noted already. Waits for another transaction that notes
   * it at this moment, and is true only if that one rolls back.
   * @throws NotedMeanwhile where the transaction's level keeps it from seeing what was noted since it began
   */
  async isNew(transaction: JoinedTransaction, consumer: string, messageId: string): Promise<boolean> {
    const noting = sendWithin(transaction, `Message '${messageId}'`, () =>
      transaction.query<unknown[]>(
        `INSERT INTO ${this.schema}.inbox (consumer, message_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1`,
        [consumer, messageId],
      ),
    );
    const noted = await noting.catch((error: unknown) => {
      throw (error as { code?: unknown }).code === SERIALIZATION_FAILURE
        ? new NotedMeanwhile(error as Error)
        : error;
    });
    return noted.length > 0;
  }

  /** Forgets those that are older than this (ms), so many at most; gives how many there were. */
  async forget(age: number, most: number): Promise<number> {
    const text = `SELECT ${this.schema}.inbox_forget($1, $2) AS gone`;
    const [row] = await this.sql.query<[{ gone: number }]>(text, [age, most]);
    return row.gone;
  }
}
