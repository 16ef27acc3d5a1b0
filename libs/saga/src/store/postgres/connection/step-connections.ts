import { onePerPool } from './pg-types.js';

/**
 * Keeps one connection of a pool free of the transactions of steps. Before such a transaction commits, it waits for a
 * checkpoint of its own saga that is being written, which needs a connection as well. If transactions held all
 * connections, each would wait for one that another holds, for ever. Further transactions wait without a connection.
 */
class ConnectionReserve {
  private readonly waiting: (() => void)[] = [];
  private free: number;

  /** @param connections of the pool, at most */
  constructor(connections: number) {
    this.free = Math.max(1, connections - 1);
  }

  /** In order of arrival. */
  async run<T>(transaction: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await transaction();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free += 1;
    }
  }
}

/** The reserve of a pool. Shards of one database share the pool, and so the reserve. */
export const reserveOf = onePerPool((pool) => new ConnectionReserve(pool.options.max));

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
