import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';
import { prismaClientOf } from '../../../test/support/prisma-client.js';

const SCHEMA = `
generator client {
  provider = "prisma-client-js"
  output   = "client"
}

datasource db {
  provider = "postgresql"
}

model Account {
  id    String @id
  cents Int
  @@map("account")
}

model Booking {
  account String
  cents   Int
  reason  String
  @@id([account, reason])
  @@map("booking")
}

model TransferRequest {
  id   String @id
  saga String
  @@map("transfer_request")
}`;

interface Account {
  id: string;
  cents: number;
}

interface Models {
  readonly account: {
    updateManyAndReturn(options: {
      where: { id: string };
      data: { cents: { increment: number } };
    }): Promise<Account[]>;
  };
  readonly booking: {
    create(options: { data: { account: string; cents: number; reason: string } }): Promise<unknown>;
  };
  readonly transferRequest: { create(options: { data: { id: string; saga: string } }): Promise<unknown> };
  $queryRawUnsafe<T = unknown>(text: string, ...values: unknown[]): PromiseLike<T>;
}

/** The part of the types that Prisma generates which the recipe uses. */
export interface PrismaClient extends Models {
  $transaction<T>(work: (transaction: Prisma.TransactionClient) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}

// oxlint-disable-next-line typescript/no-namespace -- as Prisma generates it
export declare namespace Prisma {
  type TransactionClient = Models & Pick<PrismaClient, '$transaction'>;
}

/** As an application connects the client that Prisma generated from its schema. */
export async function connect(url: string): Promise<PrismaClient> {
  const { PrismaClient: Client } = createRequire(import.meta.url)(await prismaClientOf(SCHEMA)) as {
    PrismaClient: new (options: { adapter: PrismaPg }) => PrismaClient;
  };
  const adapter = new PrismaPg(new Pool({ connectionString: url }), { disposeExternalPool: true });
  return new Client({ adapter });
}
