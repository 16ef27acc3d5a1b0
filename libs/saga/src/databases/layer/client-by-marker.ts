import { SagaTransactionError } from '../../errors.js';
import { newId } from '../../shared/new-id.js';
import type { PgClient, PgPool } from '../../store/postgres/connection/pg-types.js';
import { INSTEAD, isAborted } from '../../store/postgres/connection/transaction-watch.js';
import { isTransientError } from '../../store/postgres/connection/transient-errors.js';

/**
 * Returns the connection of a transaction of a layer that does not show it: the client of the pool that receives the answer to
 * a statement which selects a text that no other does. The server's process id does not tell it: poolers invent their own.
 * @param send runs a statement in the transaction
 * @throws SagaTransactionError if the transaction is aborted, or on a connection of another pool
 */
export async function clientByMarker(
  layer: string,
  pool: PgPool,
  send: (text: string) => Promise<unknown>,
): Promise<PgClient> {
  const marker = newId();
  let found: PgClient | undefined;
  const watched = (pool._clients ?? []).flatMap((client) => {
    const connection = client.connection as RowSource | undefined;
    const listen = ({ fields }: Row) => {
      if (String(fields[0]) === marker) found = client;
    };
    return connection ? [{ connection, listen }] : [];
  });
  for (const { connection, listen } of watched) connection.on('dataRow', listen);
  try {
    await send(`SELECT '${marker}' AS marker`);
  } catch (error) {
    if (isTransientError(error)) throw error;
    if (!isAborted(error))
      throw new SagaTransactionError(
        `The transaction that was given cannot be used; it may have ended: ${(error as Error).message}`,
        { cause: error },
      );
    throw new SagaTransactionError(
      `Nothing is stored in the transaction: a statement of it failed, and the error was caught. PostgreSQL rolls back ` +
        `such a transaction even on COMMIT. ${INSTEAD}`,
      { cause: error },
    );
  } finally {
    for (const { connection, listen } of watched) connection.removeListener('dataRow', listen);
  }
  if (found) return found;
  throw new SagaTransactionError(
    `The transaction that was given is not on a connection of the pool of the module's database. Give the adapter the ` +
      `Pool of pg that ${layer} uses.`,
  );
}

/** A row as the server sends it. */
interface Row {
  readonly fields: readonly unknown[];
}

/** The part of pg's Connection that is used: it emits each row that the server sends. */
interface RowSource {
  on(event: 'dataRow', listener: (row: Row) => void): unknown;
  removeListener(event: 'dataRow', listener: (row: Row) => void): unknown;
}
