import {
  Saga,
  type SagaService,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { pgDatabase } from 'nestjs-durable-saga/pg';
import { Pool, type PoolClient } from 'pg';
import type { Transfer } from './transactional-steps.js';

@Saga({ name: 'transfer' })
export class TransferSaga {
  @Step({ transactional: true, timeout: '5s' })
  async debit(ctx: TransactionalStepContext<Transfer, TransferSaga, PoolClient>) {
    const { from, cents } = ctx.input;
    return { left: await book(ctx.transaction, from, -cents, ctx.idempotencyKey) };
  }
}

async function book(client: PoolClient, id: string, cents: number, reason: string): Promise<number> {
  const add = 'UPDATE account SET cents = cents + $2 WHERE id = $1 RETURNING cents';
  const [row] = (await client.query<{ cents: number }>(add, [id, cents])).rows;
  if (!row || row.cents < 0) throw new StepRejectedError(`${id} does not have ${-cents}`);
  await client.query('INSERT INTO booking (account, cents, reason) VALUES ($1, $2, $3)', [id, cents, reason]);
  return row.cents;
}

export async function request(pool: Pool, sagas: SagaService, transfer: Transfer) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const start = { transaction: client, correlationId: transfer.id };
    const handle = await sagas.start(TransferSaga, transfer, start);
    if (handle.created)
      await client.query('INSERT INTO transfer_request VALUES ($1, $2)', [transfer.id, handle.id]);
    await client.query('COMMIT');
    return handle;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

export function open(url: string) {
  const pool = new Pool({ connectionString: url });
  return {
    database: pgDatabase(pool),
    request: (sagas: SagaService, transfer: Transfer) => request(pool, sagas, transfer),
    close: () => pool.end(),
  };
}
