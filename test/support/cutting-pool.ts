import { once } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';

/**
 * Pools whose connections can be cut at a statement: the server executes it, and its answer is lost. A process that ends
 * before it sends a statement is the same to the server as one that does not receive the answer to the one before.
 */
export class Cutter {
  /** Statements since `arm()`. */
  sent = 0;
  private at = 0;

  /** Cuts the connection of the n-th statement from now on. 0: none. */
  arm(at: number): void {
    this.sent = 0;
    this.at = at;
  }

  /** Whether the statement was reached. */
  get hasCut(): boolean {
    return this.at > 0 && this.sent >= this.at;
  }

  /** Adds a pool whose statements count. */
  pool(connectionString: string): pg.Pool {
    const pool = new pg.Pool({ connectionString, max: 4 });
    pool.on('error', () => undefined);
    pool.on('connect', (client) => this.count(client));
    return pool;
  }

  private count(client: pg.PoolClient): void {
    client.on('error', () => undefined);
    const send = client.query.bind(client) as unknown as (...given: unknown[]) => Promise<unknown>;
    const counted = async (...given: unknown[]): Promise<unknown> => {
      this.sent += 1;
      if (this.sent !== this.at) return send(...given);
      await send(...given).catch(() => undefined);
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      const closed = once(stream, 'close');
      stream.destroy();
      await closed;
      throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
    };
    Object.assign(client, { query: counted });
  }
}
