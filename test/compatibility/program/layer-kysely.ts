import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import { kyselyDatabase } from 'nestjs-durable-saga/kysely';
import { Pool } from 'pg';
import type { Layer } from './layer.js';

interface Schema {
  booking: { what: string };
}

export function kyselyLayer(url: string): Layer<Transaction<Schema>> {
  const pool = new Pool({ connectionString: url });
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  return {
    database: kyselyDatabase(db, pool),
    transaction: (work) => db.transaction().execute(work),
    book: (transaction, what) => transaction.insertInto('booking').values({ what }).execute(),
    close: () => db.destroy(),
  };
}
