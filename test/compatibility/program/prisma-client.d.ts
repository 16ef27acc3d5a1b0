/**
 * The part of the client that layer-prisma.ts uses. The client is generated in the project of a consumer, where this file
 * is not compiled.
 */
declare module '*/generated/prisma/client.js' {
  import type { PrismaPg } from '@prisma/adapter-pg';
  import type { PrismaDatabaseClient } from 'nestjs-durable-saga/prisma';

  export class PrismaClient implements PrismaDatabaseClient {
    constructor(options: { adapter: PrismaPg });
    $transaction<T>(work: (transaction: Prisma.TransactionClient) => Promise<T>): Promise<T>;
    $queryRawUnsafe<T = unknown>(text: string, ...values: unknown[]): PromiseLike<T>;
    $disconnect(): Promise<void>;
  }

  export namespace Prisma {
    interface TransactionClient extends Omit<PrismaClient, '$disconnect'> {
      readonly booking: { create(options: { data: { what: string } }): Promise<unknown> };
    }
  }
}
