import { pgDatabase } from 'nestjs-durable-saga/pg';
import { Pool, type PoolClient } from 'pg';
import type { Layer } from './layer.js';

export function pgLayer(url: string): Layer<PoolClient> {
  const pool = new Pool({ connectionString: url });
  return {
    database: pgDatabase(pool),
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await work(client);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    book: (client, what) => client.query('INSERT INTO booking VALUES ($1)', [what]),
    close: () => pool.end(),
  };
}
