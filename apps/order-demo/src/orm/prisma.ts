import { PrismaPg } from '@prisma/adapter-pg';
import { prismaDatabase, type PrismaTransaction } from 'nestjs-durable-saga/prisma';
import type { Pool } from 'pg';
import { type NewOrder, type OrderChange, OrderStore, type Orm } from './orm.js';
import { loadPrismaClient, type PrismaClient } from './prisma-client.js';

type Transaction = PrismaTransaction<PrismaClient>;

export async function openPrisma(pool: Pool): Promise<Orm<Transaction>> {
  const Client = await loadPrismaClient();
  const prisma = new Client({ adapter: new PrismaPg(pool, { disposeExternalPool: true }) });
  return {
    database: prismaDatabase(prisma),
    orders: new PrismaOrders(prisma),
    close: () => prisma.$disconnect(),
  };
}

class PrismaOrders extends OrderStore<Transaction> {
  constructor(private readonly prisma: PrismaClient) {
    super();
  }

  async place(order: NewOrder, start: (transaction: Transaction) => Promise<unknown>): Promise<void> {
    await this.prisma.$transaction(async (transaction: Transaction) => {
      const { count } = await transaction.order.createMany({ data: [order], skipDuplicates: true });
      if (count > 0) await start(transaction);
    });
  }

  async change(transaction: Transaction, id: string, change: OrderChange): Promise<void> {
    await transaction.order.update({ where: { id }, data: change });
  }
}
