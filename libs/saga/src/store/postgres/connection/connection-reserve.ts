/**
 * Keeps one connection of a pool free of the transactions of steps. Before such a transaction commits, it waits for a
 * checkpoint of its own saga that is being written, which needs a connection as well. If transactions held all
 * connections, each would wait for one that another holds, for ever. Further transactions wait without a connection.
 */
export class ConnectionReserve {
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
