import knex, { type Knex } from 'knex';
import { knexDatabase } from 'nestjs-durable-saga/knex';
import { DEMO_SCHEMA } from '../database/schema.js';
import { type NewOrder, type OrderChange, OrderStore, type Orm } from './orm.js';

export function openKnex(url: string): Orm<Knex.Transaction> {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 10 } });
  return { database: knexDatabase(db), orders: new KnexOrders(db), close: () => db.destroy() };
}

class KnexOrders extends OrderStore<Knex.Transaction> {
  constructor(private readonly db: Knex) {
    super();
  }

  async place(order: NewOrder, start: (transaction: Knex.Transaction) => Promise<unknown>): Promise<void> {
    const { idempotencyKey: idempotency_key, ...columns } = order;
    await this.db.transaction(async (transaction) => {
      const insert = ordersIn(transaction).insert({ ...columns, idempotency_key });
      const inserted: object[] = await insert.onConflict().ignore().returning('id');
      if (inserted.length > 0) await start(transaction);
    });
  }

  async change(transaction: Knex.Transaction, id: string, change: OrderChange): Promise<void> {
    const { status, cancelledBecause: cancelled_because, trackingNumber: tracking_number } = change;
    const updated_at = transaction.fn.now();
    await ordersIn(transaction)
      .where({ id })
      .update({ status, cancelled_because, tracking_number, updated_at });
  }
}

const ordersIn = (transaction: Knex.Transaction) => transaction('order').withSchema(DEMO_SCHEMA);
