import { ConnectionReserve } from './connection-reserve.js';
import type { PgPool } from './pg-types.js';

const reserves = new WeakMap<PgPool, ConnectionReserve>();

/** The reserve of a pool. Shards of one database share the pool, and so the reserve. */
export function reserveOf(pool: PgPool): ConnectionReserve {
  const reserve = reserves.get(pool) ?? new ConnectionReserve(pool.options.max);
  reserves.set(pool, reserve);
  return reserve;
}

/** Connections on which the transaction of a step is open, with the schema of its saga. */
const schemas = new WeakMap<object, string>();

/** The schema of the saga whose step has its transaction open on a connection. Undefined: it is no transaction of a step. */
export function schemaOfStep(connection: object | undefined): string | undefined {
  return connection && schemas.get(connection);
}

/** Runs the transaction of a step. */
export async function inStepOf<T>(schema: string, connection: object, work: () => Promise<T>): Promise<T> {
  schemas.set(connection, schema);
  try {
    return await work();
  } finally {
    schemas.delete(connection);
  }
}
