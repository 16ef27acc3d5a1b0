import { pgDatabase } from 'nestjs-durable-saga/pg';
import type { Pool, PoolClient } from 'pg';
import { DEMO_SCHEMA } from '../database/schema.js';
import { type NewOrder, type OrderChange, OrderStore, type Orm } from './orm.js';

const INSERT = `INSERT INTO ${DEMO_SCHEMA}."order" (id, idempotency_key, request, amount, status)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`;
const CHANGE = `UPDATE ${DEMO_SCHEMA}."order" SET status = $2, cancelled_because = coalesce($3, cancelled_because),
  tracking_number = coalesce($4, tracking_number), updated_at = now() WHERE id = $1`;

export function openPg(pool: Pool): Orm<PoolClient> {
  return { database: pgDatabase(pool), orders: new PgOrders(pool), close: () => pool.end() };
}

class PgOrders extends OrderStore<PoolClient> {
  constructor(private readonly pool: Pool) {
    super();
  }

  async place(order: NewOrder, start: (transaction: PoolClient) => Promise<unknown>): Promise<void> {
    const { id, idempotencyKey, request, amount, status } = order;
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const { rowCount } = await client.query(INSERT, [id, idempotencyKey, request, amount, status]);
      if (rowCount !== 0) await start(client);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  async change(client: PoolClient, id: string, change: OrderChange): Promise<void> {
    await client.query(CHANGE, [id, change.status, change.cancelledBecause, change.trackingNumber]);
  }
}
