/**
 * Of the connections of a pool, all but one may be held by transactions of steps. Before such a transaction commits, it
 * waits for a checkpoint of its own saga that is being written, and that one needs a connection as well: if transactions
 * held all of them, each would wait for one that another holds, for ever. Those beyond wait without a connection.
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
