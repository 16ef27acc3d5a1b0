import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { prismaDatabase, type PrismaTransaction } from '../../../libs/saga/src/databases/prisma/index.js';
import { prismaClientOf } from '../../support/prisma-client.js';
import { failing, type LayerSubject, READ_ONLY } from './layer.js';

const SCHEMA = `
generator client {
  provider = "prisma-client-js"
  output   = "client"
}

datasource db {
  provider = "postgresql"
}

model Effect {
  what String @id
  @@map("effect")
}`;

/** The part of the client generated from this schema that is used here. */
interface Client {
  readonly effect: { create(options: { data: { what: string } }): PromiseLike<unknown> };
  $transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  $queryRawUnsafe<T = unknown>(text: string): PromiseLike<T>;
  $executeRawUnsafe(text: string): PromiseLike<number>;
  $disconnect(): Promise<void>;
}
type Transaction = PrismaTransaction<Client>;
type ClientClass = new (options: { adapter: PrismaPg }) => Client;

const require = createRequire(import.meta.url);

export const PRISMA: LayerSubject<Transaction> = {
  name: 'Prisma',
  open: async (url, connections = 10) => {
    const pool = new pg.Pool({ connectionString: url, max: connections });
    const { PrismaClient } = require(await prismaClientOf(SCHEMA)) as { PrismaClient: ClientClass };
    const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
    return {
      database: prismaDatabase(prisma),
      source: prisma,
      transaction: (work) => prisma.$transaction(work),
      nested: (tx, work) => tx.$transaction(work),
      write: (tx, what) => Promise.resolve(tx.effect.create({ data: { what } })),
      fail: (tx, code) => Promise.resolve(tx.$executeRawUnsafe(failing(code))),
      readOnly: (tx) => Promise.resolve(tx.$executeRawUnsafe(READ_ONLY)),
      close: async () => {
        await prisma.$disconnect();
        await pool.end();
      },
    };
  },
};
