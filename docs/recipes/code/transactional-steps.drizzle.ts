import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import {
  Saga,
  type SagaService,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { drizzleDatabase, type DrizzleTransaction } from 'nestjs-durable-saga/drizzle';
import { Pool } from 'pg';
import type { Transfer } from './transactional-steps.js';

const account = pgTable('account', { id: text().primaryKey(), cents: integer().notNull() });
const booking = pgTable('booking', {
  account: text().notNull(),
  cents: integer().notNull(),
  reason: text().notNull(),
});
const transferRequest = pgTable('transfer_request', { id: text().primaryKey(), saga: text().notNull() });

const connect = (url: string) => drizzle({ client: new Pool({ connectionString: url }) });
type Database = ReturnType<typeof connect>;
type Transaction = DrizzleTransaction<Database>;

@Saga({ name: 'transfer' })
export class TransferSaga {
  @Step({ transactional: true, timeout: '5s' })
  async debit({
    input,
    transaction,
    idempotencyKey,
  }: TransactionalStepContext<Transfer, TransferSaga, Transaction>) {
    return { left: await book(transaction, input.from, -input.cents, idempotencyKey) };
  }
}

async function book(transaction: Transaction, id: string, cents: number, reason: string): Promise<number> {
  const [row] = await transaction
    .update(account)
    .set({ cents: sql`${account.cents} + ${cents}` })
    .where(eq(account.id, id))
    .returning();
  if (!row || row.cents < 0) throw new StepRejectedError(`${id} does not have ${-cents}`);
  await transaction.insert(booking).values({ account: id, cents, reason });
  return row.cents;
}

export function request(db: Database, sagas: SagaService, transfer: Transfer) {
  return db.transaction(async (transaction) => {
    const handle = await sagas.start(TransferSaga, transfer, { transaction, correlationId: transfer.id });
    if (handle.created)
      await transaction.insert(transferRequest).values({ id: transfer.id, saga: handle.id });
    return handle;
  });
}

export function open(url: string) {
  const db = connect(url);
  return {
    database: drizzleDatabase(db),
    request: (sagas: SagaService, transfer: Transfer) => request(db, sagas, transfer),
    close: () => db.$client.end(),
  };
}
