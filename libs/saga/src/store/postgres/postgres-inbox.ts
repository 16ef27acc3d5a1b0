import type { EntityManager } from 'typeorm';

interface Sql {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

/** The journal of the messages that were handled. */
export class PostgresInbox {
  private readonly table: string;

  constructor(
    private readonly sql: Sql,
    schema: string,
  ) {
    this.table = `"${schema}".inbox`;
  }

  /**
   * Notes the message in the caller's transaction; false: it is noted already. Waits for another transaction that notes
   * it at this moment, and is true only if that one rolls back.
   */
  async isNew(manager: EntityManager, consumer: string, messageId: string): Promise<boolean> {
    const noted = await manager.query<unknown[]>(
      `INSERT INTO ${this.table} (consumer, message_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1`,
      [consumer, messageId],
    );
    return noted.length > 0;
  }

  /**
   * Forgets those that are older than this (ms), so many at most; gives how many there were.
   * Plan: the oldest by inbox_handled, then by primary key; several processes leave each other's alone.
   */
  async forget(age: number, most: number): Promise<number> {
    const [row] = (await this.sql.query(
      `WITH old AS MATERIALIZED (
        SELECT i.consumer, i.message_id FROM ${this.table} i WHERE i.handled_at < now() - $1 * interval '1 millisecond'
        ORDER BY i.handled_at LIMIT $2 FOR UPDATE SKIP LOCKED
      ), gone AS (
        DELETE FROM ${this.table} i USING old WHERE i.consumer = old.consumer AND i.message_id = old.message_id
        RETURNING 1)
       SELECT count(*)::int AS gone FROM gone`,
      [age, most],
    )) as [{ gone: number }];
    return row.gone;
  }
}
