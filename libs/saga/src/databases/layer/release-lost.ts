import type { PgClient, PgPool, ReleaseClient } from '../../store/postgres/connection/pg-types.js';
import { TransactionWatch } from '../../store/postgres/connection/transaction-watch.js';

/**
 * Returns a connection that was lost in a transaction to its pool of pg, if the layer did not. A ControlledTransaction of
 * Kysely, which MikroORM 7 uses, keeps the connection of a transaction that it cannot roll back, for ever.
 */
export function releaseLost(pool: PgPool, client: PgClient & { readonly release?: ReleaseClient }): void {
  if (TransactionWatch.on(client).isLost && pool._clients?.includes(client)) client.release?.(true);
}
