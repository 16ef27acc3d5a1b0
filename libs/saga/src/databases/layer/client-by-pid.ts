import { SagaTransactionError } from '../../errors.js';
import type { PgClient, PgPool } from '../../store/postgres/connection/pg-types.js';
import { INSTEAD, isAborted } from '../../store/postgres/connection/transaction-watch.js';

/**
 * Returns the connection of a transaction of a layer that does not show it: the client of the pool with the id that the
 * server gave to the connection.
 * @param read runs SELECT pg_backend_pid() in the transaction
 * @throws SagaTransactionError if the transaction is aborted, or on a connection of another pool
 */
export async function clientByPid(
  layer: string,
  pool: PgPool,
  read: () => Promise<unknown>,
): Promise<PgClient> {
  const pid = await read().catch((error: unknown) => {
    if (!isAborted(error)) throw error;
    throw new SagaTransactionError(
      `Nothing is stored in the transaction: a statement of it failed, and the error was caught. PostgreSQL rolls back ` +
        `such a transaction even on COMMIT. ${INSTEAD}`,
      { cause: error },
    );
  });
  const client = pool._clients?.find(({ processID }) => processID === Number(pid));
  if (client) return client;
  throw new SagaTransactionError(
    `The transaction that was given is not on a connection of the pool of the module's database. Give the adapter the ` +
      `Pool of pg that ${layer} uses.`,
  );
}
