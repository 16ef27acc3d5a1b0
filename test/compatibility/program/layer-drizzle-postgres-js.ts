import { pgTable, text } from 'drizzle-orm/pg-core';
import { drizzle } from 'drizzle-orm/postgres-js';
import { drizzleDatabase, type DrizzleTransaction } from 'nestjs-durable-saga/drizzle';
import postgres from 'postgres';
import type { Layer } from './layer.js';

const booking = pgTable('booking', { what: text() });

const open = (url: string) => drizzle({ client: postgres(url), schema: { booking } });

export function drizzlePostgresJsLayer(url: string): Layer<DrizzleTransaction<ReturnType<typeof open>>> {
  const db = open(url);
  return {
    database: drizzleDatabase(db),
    transaction: (work) => db.transaction(work),
    book: (transaction, what) => transaction.insert(booking).values({ what }),
    close: () => db.$client.end(),
  };
}
