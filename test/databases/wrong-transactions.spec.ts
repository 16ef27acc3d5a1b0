import { MikroORM } from '@mikro-orm/postgresql';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { Saga, SagaTransactionError, Step } from '../../libs/saga/src/index.js';
import { LayerApps } from './contract/layer-apps.js';
import { DRIZZLE } from './layers/drizzle.layer.js';
import { KNEX } from './layers/knex.layer.js';
import { KYSELY } from './layers/kysely.layer.js';
import { EFFECT, MIKRO_ORM } from './layers/mikro-orm.layer.js';
import { PG } from './layers/pg.layer.js';
import { PRISMA } from './layers/prisma.layer.js';
import { TYPEORM } from './layers/typeorm.layer.js';

@Saga({ name: 'order' })
class Order {
  @Step() reserve() {}
}

const mikroOrm = () =>
  MikroORM.initSync({ clientUrl: 'postgres://nowhere/none', entities: [EFFECT], connect: false });

/** Objects of all layers that are no transaction of the module's. */
const GIVEN = {
  'a Pool of pg': () => new pg.Pool(),
  'a client of pg': () => new pg.Client(),
  'a DataSource of TypeORM': () => new DataSource({ type: 'postgres' }),
  'an EntityManager of TypeORM': () => new DataSource({ type: 'postgres' }).manager,
  'a database of Drizzle': () => drizzle(new pg.Pool()),
  'a Kysely': () => new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool() }) }),
  'a Knex': () => knex({ client: 'pg' }),
  'an EntityManager of MikroORM outside of a transaction': () => mikroOrm().em,
  'a MikroORM': () => mikroOrm(),
  'an object of the class Object': () => ({ password: 'secret' }),
};
const FOR_PG =
  'For pg, give forRoot({ database: pgDatabase(pool) }), with pgDatabase of nestjs-durable-saga/pg.';
const FOR_DRIZZLE =
  'For Drizzle, give forRoot({ database: drizzleDatabase(db) }), with drizzleDatabase of nestjs-durable-saga/drizzle.';
const FOR_KYSELY = 'For Kysely, give forRoot({ database: kyselyDatabase(db, pool) })';
const FOR_KNEX = 'For Knex, give forRoot({ database: knexDatabase(knex) })';
const FOR_MIKRO_ORM = 'For MikroORM, give forRoot({ database: mikroOrmDatabase(orm) })';
const FOR_PRISMA = 'For Prisma, give forRoot({ database: prismaDatabase(prisma) })';
const FOR_TYPEORM = 'For TypeORM, remove the option database, or give the name of a DataSource';

async function refusals(apps: LayerApps, given: object, isSource = false): Promise<string[]> {
  const { sagas, outbox, inbox } = await apps.start({ sagas: [Order] });
  const { id } = await sagas.start(Order, {});
  const calls = [
    sagas.start(Order, {}, { transaction: given }),
    sagas.signal(id, 'paid', 1, { transaction: given }),
    outbox.publish(given, { topic: 'orders', payload: 1 }),
    // It opens a transaction on a source of its layer.
    ...(isSource ? [] : [inbox.once('m1', given, () => undefined)]),
  ];
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => {
    if (one.status === 'fulfilled') return 'it was taken';
    expect(one.reason).toBeInstanceOf(SagaTransactionError);
    return (one.reason as Error).message;
  });
}

describe('with the database of pg', () => {
  const apps = LayerApps.of(PG);

  test.each([
    ['a DataSource of TypeORM', FOR_TYPEORM],
    ['an EntityManager of TypeORM', FOR_TYPEORM],
    ['a Pool of pg', ''],
    ['a database of Drizzle', FOR_DRIZZLE],
    ['a Kysely', FOR_KYSELY],
    ['a Knex', FOR_KNEX],
    ['a MikroORM', FOR_MIKRO_ORM],
    ['an EntityManager of MikroORM outside of a transaction', FOR_MIKRO_ORM],
    ['an object of the class Object', ''],
  ] as const)('a transaction is refused that is %s', async (what, adapter) => {
    for (const message of await refusals(apps, GIVEN[what]())) {
      expect(message).toContain(`is ${what}, but the module uses the database of pg. ${adapter}`);
      expect(message).toContain(
        'Give a PoolClient of pg on which BEGIN has run: const client = await pool.connect()',
      );
      expect(message).not.toContain('secret');
    }
  });

  test('a client on which BEGIN has not run is refused', async () => {
    const { sagas, layer } = await apps.start({ sagas: [Order] });
    const pool = layer.source as pg.Pool;
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query('COMMIT');
    const starting = sagas.start(Order, {}, { transaction: client }).finally(() => client.release());
    await expect(starting).rejects.toThrow(
      'The connection that was given is in no transaction. Give a PoolClient of pg on which BEGIN has run',
    );
  });
});

describe('with TypeORM', () => {
  const apps = LayerApps.of(TYPEORM);

  test('an EntityManager in no transaction is refused, as a client of pg is', async () => {
    const { sagas, outbox, layer } = await apps.start({ sagas: [Order] });
    const { manager } = layer.source as { manager?: object };
    for (const given of [layer.source, manager ?? layer.source]) {
      const refusal =
        'The EntityManager that was given is in no transaction. Give the EntityManager of dataSource.transaction(';
      await expect(sagas.start(Order, {}, { transaction: given })).rejects.toThrow(refusal);
      await expect(outbox.publish(given, { topic: 'orders', payload: 1 })).rejects.toThrow(refusal);
    }
  });

  test.each([
    ['a Pool of pg', FOR_PG],
    ['a client of pg', FOR_PG],
    ['a database of Drizzle', FOR_DRIZZLE],
    ['a Kysely', FOR_KYSELY],
    ['a Knex', FOR_KNEX],
    ['a DataSource of TypeORM', ''],
    ['an object of the class Object', ''],
  ] as const)('a transaction is refused that is %s', async (what, adapter) => {
    for (const message of await refusals(apps, GIVEN[what](), what === 'a DataSource of TypeORM')) {
      expect(message).toContain(`is ${what}, but the module uses the database of TypeORM. ${adapter}`);
      expect(message).toContain('Give the EntityManager of dataSource.transaction(async (manager) => …).');
    }
  });
});

describe.each([
  ['Drizzle', DRIZZLE, 'Give the transaction of db.transaction(async (tx) => …).'],
  ['Kysely', KYSELY, 'Give the transaction of db.transaction().execute(async (trx) => …).'],
  ['Knex', KNEX, 'Give the transaction of knex.transaction(async (trx) => …).'],
  ['MikroORM', MIKRO_ORM, 'Give the EntityManager of em.transactional(async (em) => …).'],
  ['Prisma', PRISMA, 'Give the transaction of prisma.$transaction(async (tx) => …).'],
] as const)('with the database of %s', (name, subject, fix) => {
  const apps = LayerApps.of(subject);

  test.each([
    ['a client of pg', FOR_PG],
    ['an EntityManager of TypeORM', FOR_TYPEORM],
    ['an object of the class Object', ''],
  ] as const)('a transaction is refused that is %s', async (what, adapter) => {
    for (const message of await refusals(apps, GIVEN[what]())) {
      expect(message).toContain(`is ${what}, but the module uses the database of ${name}. ${adapter}`);
      expect(message).toContain(fix);
    }
  });

  test('a client of Prisma is refused, with the adapter of Prisma', async () => {
    const prisma = {
      $queryRawUnsafe: () => undefined,
      $transaction: () => undefined,
      $connect: () => undefined,
    };
    for (const message of await refusals(apps, prisma)) {
      expect(message).toContain(`is a PrismaClient, but the module uses the database of ${name}.`);
      expect(message.includes(FOR_PRISMA)).toBe(name !== 'Prisma');
    }
  });

  test('what opens transactions is refused as a transaction', async () => {
    const { sagas, layer } = await apps.start({ sagas: [Order] });
    await expect(sagas.start(Order, {}, { transaction: layer.source })).rejects.toThrow(
      new RegExp(
        `is an? (database of |EntityManager of )?${name}(Client)?( outside of a transaction)?, but the module uses the database of ${name}. ${escaped(fix)}`,
      ),
    );
  });
});

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
