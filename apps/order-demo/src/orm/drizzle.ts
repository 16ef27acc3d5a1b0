import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, jsonb, pgSchema, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { drizzleDatabase, type DrizzleTransaction } from 'nestjs-durable-saga/drizzle';
import type { Pool } from 'pg';
import { DEMO_SCHEMA } from '../database/schema.js';
import { type NewOrder, type OrderChange, OrderStore, type Orm } from './orm.js';

const orders = pgSchema(DEMO_SCHEMA).table('order', {
  id: uuid().primaryKey(),
  idempotencyKey: text('idempotency_key').unique(),
  request: jsonb().notNull(),
  amount: integer().notNull(),
  status: text().notNull(),
  cancelledBecause: text('cancelled_because'),
  trackingNumber: uuid('tracking_number'),
  updatedAt: timestamp('updated_at', { withTimezone: true })
    .notNull()
    .defaultNow()
    .$onUpdate(() => sql`now()`),
});

const databaseOf = (pool: Pool) => drizzle({ client: pool, schema: { orders } });
type Database = ReturnType<typeof databaseOf>;
type Transaction = DrizzleTransaction<Database>;

export function openDrizzle(pool: Pool): Orm<Transaction> {
  const db = databaseOf(pool);
  return { database: drizzleDatabase(db), orders: new DrizzleOrders(db), close: () => pool.end() };
}

class DrizzleOrders extends OrderStore<Transaction> {
  constructor(private readonly db: Database) {
    super();
  }

  async place(order: NewOrder, start: (transaction: Transaction) => Promise<unknown>): Promise<void> {
    await this.db.transaction(async (transaction) => {
      const inserted = await transaction.insert(orders).values(order).onConflictDoNothing().returning();
      if (inserted.length > 0) await start(transaction);
    });
  }

  async change(transaction: Transaction, id: string, change: OrderChange): Promise<void> {
    await transaction.update(orders).set(change).where(eq(orders.id, id));
  }
}
