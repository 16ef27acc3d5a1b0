/** `ctx.transaction` and `start()` with each database layer. Compiled with the tests' type check; there is nothing to run. */
import type { EntityManager as MikroOrmEntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type { Knex } from 'knex';
import type { Kysely, Transaction } from 'kysely';
import {
  Saga,
  SagaModule,
  type SagaService,
  Step,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
} from 'nestjs-durable-saga';
import type { SagaDatabase } from 'nestjs-durable-saga/database';
import { drizzleDatabase, type DrizzleTransaction } from 'nestjs-durable-saga/drizzle';
import { knexDatabase } from 'nestjs-durable-saga/knex';
import { kyselyDatabase } from 'nestjs-durable-saga/kysely';
import { mikroOrmDatabase } from 'nestjs-durable-saga/mikro-orm';
import { pgDatabase } from 'nestjs-durable-saga/pg';
import { prismaDatabase, type PrismaTransaction } from 'nestjs-durable-saga/prisma';
import type { Pool, PoolClient } from 'pg';
import type { Sql } from 'postgres';
import type { EntityManager } from 'typeorm';
import type { Equal, Expect } from './expect.js';

/** As Prisma generates it. */
interface PrismaClient {
  readonly order: { create(options: { data: { sku: string } }): Promise<{ id: number }> };
  $transaction<T>(work: (transaction: PrismaTransaction<PrismaClient>) => Promise<T>): Promise<T>;
  $queryRawUnsafe<T = unknown>(text: string, ...values: unknown[]): Promise<T>;
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
}
interface Tables {
  order: { sku: string };
}
type Drizzle = NodePgDatabase<{ order: never }> & { $client: Pool };

/** What the pages of Drizzle and of Nest inject. */
type InjectedDrizzle = NodePgDatabase<{ order: never }>;
type DrizzleOverPostgresJs = PostgresJsDatabase<{ order: never }> & { $client: Sql };

declare const layers: {
  prisma: PrismaClient;
  mikroOrm: MikroORM;
  drizzle: Drizzle;
  injectedDrizzle: InjectedDrizzle;
  injectedPostgresJs: PostgresJsDatabase<{ order: never }>;
  postgresJs: DrizzleOverPostgresJs;
  kysely: Kysely<Tables>;
  knex: Knex;
  pool: Pool;
};

interface Order {
  sku: string;
}

@Saga()
export class PrismaSaga {
  @Step({ transactional: true, compensate: 'cancel' })
  async place(ctx: TransactionalStepContext<Order, PrismaSaga, PrismaTransaction<PrismaClient>>) {
    const { id } = await ctx.transaction.order.create({ data: { sku: ctx.input.sku } });
    // @ts-expect-error -- a transaction cannot disconnect
    void ctx.transaction.$disconnect;
    // @ts-expect-error -- no such model
    void ctx.transaction.invoice;
    // @ts-expect-error -- only TypeORM has a manager
    void ctx.manager.queryRunner;
    return id;
  }
  cancel({
    result,
    transaction,
  }: TransactionalCompensationContext<Order, number, PrismaSaga, PrismaTransaction<PrismaClient>>) {
    // @ts-expect-error -- an order has a sku
    void transaction.order.create({ data: { id: result } });
  }
}

@Saga()
export class DrizzleSaga {
  @Step({ transactional: true })
  async place(ctx: TransactionalStepContext<Order, DrizzleSaga, DrizzleTransaction<DrizzleOverPostgresJs>>) {
    const rows = await ctx.transaction.execute('SELECT 1');
    // @ts-expect-error -- a statement of postgres.js answers rows, not an answer of pg
    void rows.rows;
    // @ts-expect-error -- a transaction has no client
    void ctx.transaction.$client;
    return rows.count;
  }
}

@Saga()
export class MikroOrmSaga {
  @Step({ transactional: true })
  async place({ transaction }: TransactionalStepContext<Order, MikroOrmSaga, MikroOrmEntityManager>) {
    await transaction.flush();
    // @ts-expect-error -- an EntityManager of MikroORM is none of TypeORM
    void transaction.queryRunner;
  }
}

/** A transaction of any layer starts a saga. */
export async function starts(sagas: SagaService, order: Order): Promise<void> {
  await layers.prisma.$transaction((transaction) => sagas.start(PrismaSaga, order, { transaction }));
  await layers.mikroOrm.em.transactional((em) => sagas.start(MikroOrmSaga, order, { transaction: em }));
  // @ts-expect-error -- a transaction is an object
  await sagas.start(PrismaSaga, order, { transaction: 'tx' });
}

void SagaModule.forRoot({ database: prismaDatabase(layers.prisma) });
void SagaModule.forRoot({ database: mikroOrmDatabase(layers.mikroOrm) });
void SagaModule.forRoot({ database: mikroOrmDatabase(layers.mikroOrm.em, layers.pool) });
// @ts-expect-error -- the layer itself is no database of sagas
void SagaModule.forRoot({ database: layers.prisma });
// @ts-expect-error -- a Pool is no PrismaClient
void prismaDatabase(layers.pool);
// @ts-expect-error -- a client of postgres.js is no database of Drizzle
void drizzleDatabase(layers.postgresJs.$client);
void drizzleDatabase(layers.postgresJs, layers.pool);
void drizzleDatabase(layers.injectedPostgresJs);
// @ts-expect-error -- a Knex, which has transaction() as well, is no database of Drizzle
void drizzleDatabase(layers.knex);
// @ts-expect-error -- its client is of no driver that sagas can use
void drizzleDatabase(layers.injectedDrizzle as InjectedDrizzle & { $client: { url: string } });
// @ts-expect-error -- a Kysely is no MikroORM
void mikroOrmDatabase(layers.kysely);
// @ts-expect-error -- the adapter of Kysely takes its pool as well
void kyselyDatabase(layers.kysely);

/** What `ctx.transaction` is with a database. */
type TransactionOf<Made> = Made extends SagaDatabase<infer Tx> ? Tx : never;
export const made = {
  prisma: prismaDatabase(layers.prisma),
  mikroOrm: mikroOrmDatabase(layers.mikroOrm),
  drizzle: drizzleDatabase(layers.drizzle),
  injectedDrizzle: drizzleDatabase(layers.injectedDrizzle),
  postgresJs: drizzleDatabase(layers.postgresJs),
  kysely: kyselyDatabase(layers.kysely, layers.pool),
  knex: knexDatabase(layers.knex),
  pg: pgDatabase(layers.pool),
};
type Made = typeof made;

export type OfATransaction = [
  Expect<Equal<TransactionOf<Made['prisma']>, PrismaTransaction<PrismaClient>>>,
  Expect<Equal<TransactionOf<Made['mikroOrm']>, MikroORM['em']>>,
  Expect<Equal<TransactionOf<Made['drizzle']>, DrizzleTransaction<Drizzle>>>,
  Expect<Equal<TransactionOf<Made['injectedDrizzle']>, DrizzleTransaction<Drizzle>>>,
  Expect<Equal<TransactionOf<Made['postgresJs']>, DrizzleTransaction<DrizzleOverPostgresJs>>>,
  Expect<Equal<TransactionOf<Made['kysely']>, Transaction<Tables>>>,
  Expect<Equal<TransactionOf<Made['knex']>, Knex.Transaction>>,
  Expect<Equal<TransactionOf<Made['pg']>, PoolClient>>,
  Expect<Equal<TransactionalStepContext<Order, unknown, PoolClient>['transaction'], PoolClient>>,
  Expect<Equal<TransactionalStepContext['transaction'], EntityManager>>,
];
