import knex, { type Knex } from 'knex';
import { knexDatabase } from 'nestjs-durable-saga/knex';
import type { Layer } from './layer.js';

export function knexLayer(url: string): Layer<Knex.Transaction> {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 10 } });
  return {
    database: knexDatabase(db),
    transaction: (work) => db.transaction(work),
    book: (transaction, what) => transaction('booking').insert({ what }),
    close: () => db.destroy(),
  };
}
