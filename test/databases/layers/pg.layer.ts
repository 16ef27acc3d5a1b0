import pg from 'pg';
import { pgDatabase } from '../../../libs/saga/src/databases/pg/index.js';
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

async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}
