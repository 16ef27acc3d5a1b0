import { sql } from 'drizzle-orm';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { drizzleDatabase, type DrizzleTransaction } from '../../../libs/saga/src/databases/drizzle/index.js';
import { failing, type LayerSubject, READ_ONLY } from './layer.js';

const effect = pgTable('effect', { what: text() });
const schema = { effect };
type Database = PostgresJsDatabase<typeof schema> & { $client: postgres.Sql };

export const DRIZZLE_POSTGRES_JS: LayerSubject<DrizzleTransaction<Database>> = {
  name: 'Drizzle over postgres.js',
  open: async (url, connections = 10) => {
    const client = postgres(url, { max: connections });
    const db = drizzle({ client, schema });
    return {
      database: drizzleDatabase(db),
      source: db,
      transaction: (work) => db.transaction(work),
      nested: (tx, work) => tx.transaction(work),
      write: (tx, what) => tx.insert(effect).values({ what }),
      fail: (tx, code) => tx.execute(sql.raw(failing(code))),
      readOnly: (tx) => tx.execute(sql.raw(READ_ONLY)),
      close: () => client.end(),
    };
  },
};
