import { sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { drizzleDatabase, type DrizzleTransaction } from '../../../libs/saga/src/databases/drizzle/index.js';
import { failing, type LayerSubject, READ_ONLY } from './layer.js';

const effect = pgTable('effect', { what: text() });
const schema = { effect };
type Database = NodePgDatabase<typeof schema> & { $client: pg.Pool };

export const DRIZZLE: LayerSubject<DrizzleTransaction<Database>> = {
  name: 'Drizzle',
  open: async (url, connections = 10) => {
    const pool = new pg.Pool({ connectionString: url, max: connections });
    const db = drizzle({ client: pool, schema });
    return {
      database: drizzleDatabase(db),
      source: db,
      transaction: (work) => db.transaction(work),
      nested: (tx, work) => tx.transaction(work),
      write: (tx, what) => tx.insert(effect).values({ what }),
      fail: (tx, code) => tx.execute(sql.raw(failing(code))),
      readOnly: (tx) => tx.execute(sql.raw(READ_ONLY)),
      close: () => pool.end(),
    };
  },
};
