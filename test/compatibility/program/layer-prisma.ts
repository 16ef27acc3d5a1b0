import { PrismaPg } from '@prisma/adapter-pg';
import { prismaDatabase } from 'nestjs-durable-saga/prisma';
import { Pool } from 'pg';
import { type Prisma, PrismaClient } from './generated/prisma/client.js';
import type { Layer } from './layer.js';

export function prismaLayer(url: string): Layer<Prisma.TransactionClient> {
  const pool = new Pool({ connectionString: url });
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: true }) });
  return {
    database: prismaDatabase(prisma),
    transaction: (work) => prisma.$transaction(work),
    book: (transaction, what) => transaction.booking.create({ data: { what } }),
    close: () => prisma.$disconnect(),
  };
}
