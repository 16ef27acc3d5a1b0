import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import {
  Saga,
  type SagaService,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { kyselyDatabase } from 'nestjs-durable-saga/kysely';
import { Pool } from 'pg';
import type { Transfer } from './transactional-steps.js';

interface Tables {
  account: { id: string; cents: number };
  booking: { account: string; cents: number; reason: string };
  transfer_request: { id: string; saga: string };
}

@Saga({ name: 'transfer' })
export class TransferSaga {
  @Step({ transactional: true, timeout: '5s' })
  async debit(ctx: TransactionalStepContext<Transfer, TransferSaga, Transaction<Tables>>) {
    const { from, cents } = ctx.input;
    return { left: await book(ctx.transaction, from, -cents, ctx.idempotencyKey) };
  }
}

async function book(
  transaction: Transaction<Tables>,
  id: string,
  cents: number,
  reason: string,
): Promise<number> {
  const row = await transaction
    .updateTable('account')
    .set((eb) => ({ cents: eb('cents', '+', cents) }))
    .where('id', '=', id)
    .returning('cents')
    .executeTakeFirst();
  if (!row || row.cents < 0) throw new StepRejectedError(`${id} does not have ${-cents}`);
  await transaction.insertInto('booking').values({ account: id, cents, reason }).execute();
  return row.cents;
}

export function request(db: Kysely<Tables>, sagas: SagaService, transfer: Transfer) {
  return db.transaction().execute(async (transaction) => {
    const handle = await sagas.start(TransferSaga, transfer, { transaction, correlationId: transfer.id });
    if (handle.created)
      await transaction.insertInto('transfer_request').values({ id: transfer.id, saga: handle.id }).execute();
    return handle;
  });
}

export function open(url: string) {
  const pool = new Pool({ connectionString: url });
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return {
    database: kyselyDatabase(db, pool),
    request: (sagas: SagaService, transfer: Transfer) => request(db, sagas, transfer),
    close: () => db.destroy(),
  };
}
