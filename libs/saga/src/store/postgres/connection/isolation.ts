import { onePerPool, type PgClient, type StatementWatch } from './pg-types.js';

/**
 * Raised by what needs READ COMMITTED and finds another level: see lock-queue.sql. Nothing was done.
 * A class of our own: PostgreSQL's begin with 0 to 4 and A to H.
 */
export const NOT_READ_COMMITTED = 'SG001';

/** In SQL: is this transaction at another level than the engine's? */
export const IS_RAISED = `current_setting('transaction_isolation') <> 'read committed'`;

/** serialization_failure: no statement of ours meets it at READ COMMITTED, but for rows that move between partitions. */
const SERIALIZATION_FAILURE = '40001';

/** Begins a transaction of the engine. */
export const BEGIN = 'START TRANSACTION ISOLATION LEVEL READ COMMITTED';

/**
 * The level at which the engine's own statements run. They are written for READ COMMITTED: under a lock they look again,
 * and see what was committed while they waited for it. A role, a database or a pool may have another default, which is
 * the application's business, on connections that are the application's. So the engine's own transactions name their
 * level, and a single statement becomes such a transaction where the default is another one; elsewhere it costs nothing.
 *
 * The default is read when the application starts. It may change later, or be another one on some connections. That is
 * noticed when a statement fails for it.
 */
export class Isolation {
  /** Single statements have to name their level. */
  isRaised = false;

  /** A single statement, in a transaction of its own. */
  async alone<T>(client: PgClient, watchdog: StatementWatch, send: () => Promise<T>): Promise<T> {
    if (this.isRaised) return inTransaction(client, watchdog, send);
    try {
      return await send();
    } catch (error) {
      if (!(await this.isReason(error, client, watchdog))) throw error;
      this.isRaised = true;
      return inTransaction(client, watchdog, send);
    }
  }

  private async isReason(error: unknown, client: PgClient, watchdog: StatementWatch): Promise<boolean> {
    const { code } = error as { code?: unknown };
    if (code === NOT_READ_COMMITTED) return true;
    if (code !== SERIALIZATION_FAILURE) return false;
    const asked = watchdog.watch(client, client.query(`SELECT ${IS_RAISED} AS "isRaised"`));
    const { rows } = (await asked.catch(() => ({ rows: [] }))) as { rows: { isRaised: unknown }[] };
    return rows[0]?.isRaised === true;
  }
}

async function inTransaction<T>(
  client: PgClient,
  watchdog: StatementWatch,
  send: () => Promise<T>,
): Promise<T> {
  await watchdog.watch(client, client.query(BEGIN));
  try {
    const result = await send();
    await watchdog.watch(client, client.query('COMMIT'));
    return result;
  } catch (error) {
    await watchdog.watch(client, client.query('ROLLBACK')).catch(() => undefined);
    throw error;
  }
}

/** Statements that can be part of a transaction: not those that make indexes CONCURRENTLY, or are about the session. */
export const IS_PLAIN = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;

export const isolationOf = onePerPool(() => new Isolation());
