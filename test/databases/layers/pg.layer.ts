import pg from 'pg';
import { pgDatabase } from '../../../libs/saga/src/databases/pg/index.js';
import { inTransaction } from '../../support/in-transaction.js';
import { failing, INSERT, type LayerSubject, READ_ONLY } from './layer.js';

export const PG: LayerSubject<pg.PoolClient> = {
  name: 'pg',
  open: async (url, connections = 10) => {
    const pool = new pg.Pool({ connectionString: url, max: connections });
    return {
      database: pgDatabase(pool),
      source: pool,
      transaction: (work) => inTransaction(pool, work),
      nested: async (client, work) => {
        await client.query('SAVEPOINT nested');
        try {
          return await work(client);
        } catch (error) {
          await client.query('ROLLBACK TO SAVEPOINT nested');
          throw error;
        }
      },
      write: (client, what) => client.query(INSERT, [what]),
      fail: (client, code) => client.query(failing(code)),
      readOnly: (client) => client.query(READ_ONLY),
      close: () => pool.end(),
    };
  },
};
