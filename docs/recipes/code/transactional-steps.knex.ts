import knex, { type Knex } from 'knex';
import {
  Saga,
  type SagaService,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { knexDatabase } from 'nestjs-durable-saga/knex';
import type { Transfer } from './transactional-steps.js';

@Saga({ name: 'transfer' })
export class TransferSaga {
  @Step({ transactional: true, timeout: '5s' })
  async debit(ctx: TransactionalStepContext<Transfer, TransferSaga, Knex.Transaction>) {
    const { from, cents } = ctx.input;
    return { left: await book(ctx.transaction, from, -cents, ctx.idempotencyKey) };
  }
}

async function book(
  transaction: Knex.Transaction,
  id: string,
  cents: number,
  reason: string,
): Promise<number> {
  const accounts = transaction<{ id: string; cents: number }>('account');
  const [row] = await accounts.where({ id }).increment('cents', cents).returning('cents');
  if (!row || row.cents < 0) throw new StepRejectedError(`${id} does not have ${-cents}`);
  await transaction('booking').insert({ account: id, cents, reason });
  return row.cents;
}

export function request(db: Knex, sagas: SagaService, transfer: Transfer) {
  return db.transaction(async (transaction) => {
    const handle = await sagas.start(TransferSaga, transfer, { transaction, correlationId: transfer.id });
    if (handle.created) await transaction('transfer_request').insert({ id: transfer.id, saga: handle.id });
    return handle;
  });
}

export function open(url: string) {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 10 } });
  return {
    database: knexDatabase(db),
    request: (sagas: SagaService, transfer: Transfer) => request(db, sagas, transfer),
    close: () => db.destroy(),
  };
}
