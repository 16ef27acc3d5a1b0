import type { Pool, PoolClient } from 'pg';
import type { PgClient, PgPool } from './pg-types.js';
import { PoolDatabase } from './pool-database.js';

/** The database of an application that uses pg itself. */
export class PgDatabase extends PoolDatabase<PoolClient> {
  readonly name = 'pg';
  readonly poolSetting = 'max of the pg.Pool';
  protected readonly transactionFix =
    "Give a PoolClient of pg on which BEGIN has run: const client = await pool.connect(); await client.query('BEGIN').";

  constructor(pool: Pool) {
    super(pool as unknown as PgPool, pool);
  }

  protected clientOf(transaction: unknown): PgClient | undefined {
    return isClient(transaction) ? transaction : undefined;
  }

  protected bind(client: PgClient): PoolClient {
    return client as unknown as PoolClient;
  }
}

/** By what a pool can do: there may be several copies of pg. */
export function isPool(value: unknown): value is PgPool {
  if (typeof value !== 'object' || value === null) return false;
  const { connect, on, Client, options } = value as Record<string, unknown>;
  return [connect, on, Client].every((part) => typeof part === 'function') && typeof options === 'object';
}

/** By what a client can do: there may be several copies of pg. */
export function isClient(value: unknown): value is PgClient {
  if (typeof value !== 'object' || value === null) return false;
  const { query, connect, getTypeParser } = value as Record<string, unknown>;
  return [query, connect, getTypeParser].every((method) => typeof method === 'function');
}
