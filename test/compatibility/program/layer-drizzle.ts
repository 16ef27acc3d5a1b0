import { drizzle } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { drizzleDatabase, type DrizzleTransaction } from 'nestjs-durable-saga/drizzle';
import { Pool } from 'pg';
import type { Layer } from './layer.js';

const booking = pgTable('booking', { what: text() });

const open = (url: string) => drizzle({ client: new Pool({ connectionString: url }), schema: { booking } });

export function drizzleLayer(url: string): Layer<DrizzleTransaction<ReturnType<typeof open>>> {
  const db = open(url);
  return {
    database: drizzleDatabase(db),
    transaction: (work) => db.transaction(work),
    book: (transaction, what) => transaction.insert(booking).values({ what }),
    close: () => db.$client.end(),
  };
}
