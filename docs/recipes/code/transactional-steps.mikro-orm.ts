import { type EntityManager, EntitySchema, LockMode, MikroORM } from '@mikro-orm/postgresql';
import {
  Saga,
  type SagaService,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { mikroOrmDatabase } from 'nestjs-durable-saga/mikro-orm';
import type { Transfer } from './transactional-steps.js';

const Account = new EntitySchema<{ id: string; cents: number }>({
  name: 'Account',
  properties: { id: { type: 'text', primary: true }, cents: { type: 'integer' } },
});
const Booking = new EntitySchema<{ account: string; cents: number; reason: string }>({
  name: 'Booking',
  properties: {
    account: { type: 'text', primary: true },
    cents: { type: 'integer' },
    reason: { type: 'text', primary: true },
  },
});
const TransferRequest = new EntitySchema<{ id: string; saga: string }>({
  name: 'TransferRequest',
  properties: { id: { type: 'text', primary: true }, saga: { type: 'text' } },
});

@Saga({ name: 'transfer' })
export class TransferSaga {
  @Step({ transactional: true, timeout: '5s' })
  async debit(ctx: TransactionalStepContext<Transfer, TransferSaga, EntityManager>) {
    const { from, cents } = ctx.input;
    return { left: await book(ctx.transaction, from, -cents, ctx.idempotencyKey) };
  }
}

/** What it changes is flushed before the checkpoint is stored. */
async function book(em: EntityManager, id: string, cents: number, reason: string): Promise<number> {
  const account = await em.findOne(Account, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!account || account.cents + cents < 0) throw new StepRejectedError(`${id} does not have ${-cents}`);
  account.cents += cents;
  em.persist(em.create(Booking, { account: id, cents, reason }));
  return account.cents;
}

export function request(orm: MikroORM, sagas: SagaService, transfer: Transfer) {
  return orm.em.fork().transactional(async (em) => {
    const start = { transaction: em, correlationId: transfer.id };
    const handle = await sagas.start(TransferSaga, transfer, start);
    if (handle.created) em.persist(em.create(TransferRequest, { id: transfer.id, saga: handle.id }));
    return handle;
  });
}

export async function open(url: string) {
  const orm = await MikroORM.init({
    ...{ clientUrl: url, entities: [Account, Booking, TransferRequest] },
    schemaGenerator: { ignoreSchema: ['saga'] },
  });
  return {
    database: mikroOrmDatabase(orm),
    request: (sagas: SagaService, transfer: Transfer) => request(orm, sagas, transfer),
    close: () => orm.close(),
  };
}
