import {
  Saga,
  type SagaService,
  Step,
  StepRejectedError,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import { prismaDatabase } from 'nestjs-durable-saga/prisma';
import type { Transfer } from './transactional-steps.js';
import { connect, type Prisma, type PrismaClient } from './transactional-steps.prisma-client.js';

@Saga({ name: 'transfer' })
export class TransferSaga {
  @Step({ transactional: true, timeout: '5s' })
  async debit(ctx: TransactionalStepContext<Transfer, TransferSaga, Prisma.TransactionClient>) {
    const { from, cents } = ctx.input;
    return { left: await book(ctx.transaction, from, -cents, ctx.idempotencyKey) };
  }
}

async function book(
  transaction: Prisma.TransactionClient,
  id: string,
  cents: number,
  reason: string,
): Promise<number> {
  const change = { cents: { increment: cents } };
  const [row] = await transaction.account.updateManyAndReturn({ where: { id }, data: change });
  if (!row || row.cents < 0) throw new StepRejectedError(`${id} does not have ${-cents}`);
  await transaction.booking.create({ data: { account: id, cents, reason } });
  return row.cents;
}

export function request(prisma: PrismaClient, sagas: SagaService, transfer: Transfer) {
  return prisma.$transaction(async (transaction) => {
    const handle = await sagas.start(TransferSaga, transfer, { transaction, correlationId: transfer.id });
    if (handle.created)
      await transaction.transferRequest.create({ data: { id: transfer.id, saga: handle.id } });
    return handle;
  });
}

export async function open(url: string) {
  const prisma = await connect(url);
  return {
    database: prismaDatabase(prisma),
    request: (sagas: SagaService, transfer: Transfer) => request(prisma, sagas, transfer),
    close: () => prisma.$disconnect(),
  };
}
