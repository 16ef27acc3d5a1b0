import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { kyselyDatabase } from '../../../libs/saga/src/databases/kysely/index.js';
import { failing, type LayerSubject, READ_ONLY } from './layer.js';

interface Schema {
  effect: { what: string };
}

export const KYSELY: LayerSubject<Transaction<Schema>> = {
  name: 'Kysely',
  open: async (url, connections = 10) => {
    const pool = new pg.Pool({ connectionString: url, max: connections });
    const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
    return {
      database: kyselyDatabase(db, pool),
      source: db,
      transaction: (work) => db.transaction().execute(work),
      nested: async (trx, work) => {
        await sql`SAVEPOINT nested`.execute(trx);
        try {
          return await work(trx);
        } catch (error) {
          await sql`ROLLBACK TO SAVEPOINT nested`.execute(trx);
          throw error;
        }
      },
      write: (trx, what) => trx.insertInto('effect').values({ what }).execute(),
      fail: (trx, code) => sql.raw(failing(code)).execute(trx),
      readOnly: (trx) => sql.raw(READ_ONLY).execute(trx),
      close: () => db.destroy(),
    };
  },
};
