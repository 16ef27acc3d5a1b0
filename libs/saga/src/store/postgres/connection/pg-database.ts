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
  return can(value, 'connect', 'on', 'Client') && typeof (value as Partial<PgPool>).options === 'object';
}

/** By what a client can do: there may be several copies of pg. */
export function isClient(value: unknown): value is PgClient {
  return can(value, 'query', 'connect', 'getTypeParser');
}

function can(value: unknown, ...names: string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}
