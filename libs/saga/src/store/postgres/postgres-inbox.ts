import type { EntityManager } from 'typeorm';
import { sendWithin } from './transaction-watch.js';

interface Sql {
  query(text: string, values?: unknown[]): Promise<unknown>;
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
   */
  async isNew(manager: EntityManager, consumer: string, messageId: string): Promise<boolean> {
    const noted = await sendWithin(manager, `Message '${messageId}'`, () =>
      manager.query<unknown[]>(
        `INSERT INTO ${this.schema}.inbox (consumer, message_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1`,
        [consumer, messageId],
      ),
    );
    return noted.length > 0;
  }

  /** Forgets those that are older than this (ms), so many at most; gives how many there were. */
  async forget(age: number, most: number): Promise<number> {
    const [row] = (await this.sql.query(`SELECT ${this.schema}.inbox_forget_1($1, $2) AS gone`, [
      age,
      most,
    ])) as [{ gone: number }];
    return row.gone;
  }
}
