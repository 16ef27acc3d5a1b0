import { type Generated, Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { kyselyDatabase } from 'nestjs-durable-saga/kysely';
import type { Pool } from 'pg';
import { DEMO_SCHEMA } from '../database/schema.js';
import { type NewOrder, type OrderChange, OrderStore, type Orm } from './orm.js';

interface Schema {
  'order_demo.order': {
    id: string;
    idempotency_key: string | null;
    /** JSON text. */
    request: string;
    amount: number;
    status: string;
    cancelled_because: string | null;
    tracking_number: string | null;
    updated_at: Generated<Date>;
  };
}
const ORDERS = `${DEMO_SCHEMA}.order` as const;

export function openKysely(pool: Pool): Orm<Transaction<Schema>> {
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  return { database: kyselyDatabase(db, pool), orders: new KyselyOrders(db), close: () => db.destroy() };
}

class KyselyOrders extends OrderStore<Transaction<Schema>> {
  constructor(private readonly db: Kysely<Schema>) {
    super();
  }

  async place(order: NewOrder, start: (transaction: Transaction<Schema>) => Promise<unknown>): Promise<void> {
    const { idempotencyKey = null, request, ...columns } = order;
    const row = { ...columns, idempotency_key: idempotencyKey, request: JSON.stringify(request) };
    await this.db.transaction().execute(async (transaction) => {
      const insert = transaction
        .insertInto(ORDERS)
        .values({ ...row, cancelled_because: null, tracking_number: null });
      const inserted = await insert
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .execute();
      if (inserted.length > 0) await start(transaction);
    });
  }

  async change(transaction: Transaction<Schema>, id: string, change: OrderChange): Promise<void> {
    const { status, cancelledBecause, trackingNumber } = change;
    const set = { status, cancelled_because: cancelledBecause, tracking_number: trackingNumber };
    const update = transaction.updateTable(ORDERS).set({ ...set, updated_at: sql`now()` });
    await update.where('id', '=', id).execute();
  }
}
