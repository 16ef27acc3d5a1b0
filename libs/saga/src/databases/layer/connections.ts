import type { PgClient } from '../../store/postgres/connection/pg-types.js';

/** The connections of transactions, each of which takes time to find and is found once. */
export class Connections {
  private readonly found = new WeakMap<object, PgClient>();
  private readonly pending = new WeakMap<object, Promise<PgClient>>();

  of(transaction: object, find: () => Promise<PgClient>): PgClient | Promise<PgClient> {
    return this.found.get(transaction) ?? this.pending.get(transaction) ?? this.look(transaction, find);
  }

  private async look(transaction: object, find: () => Promise<PgClient>): Promise<PgClient> {
    const looking = find();
    this.pending.set(transaction, looking);
    try {
      const client = await looking;
      this.found.set(transaction, client);
      return client;
    } finally {
      this.pending.delete(transaction);
    }
  }
}
