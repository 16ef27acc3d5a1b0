import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, EntitySchema, PrimaryColumn, Repository } from 'typeorm';
import {
  Saga,
  type SagaModuleOptions,
  type SagaService,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { AesGcmCodec } from '../../../libs/saga/src/encryption.js';
import { SagaInstance, SagaStep, sagaEntities } from '../../../libs/saga/src/database.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

interface Input {
  readonly sku: string;
}

@Saga({ name: 'order', retry: { attempts: 1 } })
class OrderSaga {
  @Step({ compensate: 'release' }) reserve({ input }: StepContext<Input>) {
    return { shelf: `shelf of ${input.sku}` };
  }
  release() {}
  @Step() ship({ input }: StepContext<Input>) {
    if (input.sku === 'piano') throw new Error(`no van for a ${input.sku}`);
  }
}

@Entity('orders')
class Order {
  @PrimaryColumn() id!: string;
  @Column() sku!: string;
  @Column('uuid') sagaId!: string;
  /** Mapped by a join. */
  saga?: SagaInstance;
}

@Injectable()
class Orders {
  constructor(
    @InjectRepository(Order) readonly orders: Repository<Order>,
    @InjectRepository(SagaInstance) readonly sagas: Repository<SagaInstance>,
    @InjectRepository(SagaStep) readonly steps: Repository<SagaStep>,
  ) {}
}

/** An application that registers the entities beside its own, in two of its modules. */
async function startWithOrders(options?: SagaModuleOptions) {
  const app = await apps.start({
    ...{ sagas: [OrderSaga], options, providers: [Orders] },
    imports: [TypeOrmModule.forFeature([...sagaEntities(), Order]), TypeOrmModule.forFeature(sagaEntities())],
    dataSource: { autoLoadEntities: true, synchronize: true },
  });
  return { ...app, shop: app.nest.get(Orders, { strict: false }) };
}

/** Runs the saga of an order. */
async function run(sagas: SagaService, sku: string): Promise<string> {
  const { id, outcome } = await sagas.start(OrderSaga, { sku });
  await outcome();
  return id;
}

/** All that the schema of sagas is made of. */
const objects = () =>
  apps.sql(`
    SELECT c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull,
      pg_get_expr(d.adbin, d.adrelid) AS preset
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'saga'::regnamespace
    UNION ALL SELECT conname, contype, conrelid::regclass::text, pg_get_constraintdef(oid), NULL, NULL
    FROM pg_constraint WHERE connamespace = 'saga'::regnamespace
    UNION ALL SELECT proname, 'f', '', prosrc, NULL, NULL FROM pg_proc WHERE pronamespace = 'saga'::regnamespace
    ORDER BY 1, 2, 3`);

afterEach(() => apps.sql('DROP TABLE IF EXISTS orders'));

describe('the entities in the DataSource of an application', () => {
  test('join its own entities with their sagas and steps', async () => {
    const { sagas, shop } = await startWithOrders();
    for (const [n, sku] of ['cup', 'piano'].entries())
      await shop.orders.insert({ id: `o-${n}`, sku, sagaId: await run(sagas, sku) });
    const listed = shop.orders
      .createQueryBuilder('order')
      .leftJoinAndMapOne('order.saga', SagaInstance, 'saga', 'saga.id = order.sagaId')
      .leftJoinAndSelect('saga.steps', 'step')
      .orderBy('order.id');
    const list = await listed.take(2).getMany();
    const steps = (status: string, last: string) =>
      expect.arrayContaining([
        expect.objectContaining({ name: 'reserve', status, result: { shelf: expect.any(String) as string } }),
        expect.objectContaining({ name: 'ship', status: last }),
      ]) as object;
    expect(list).toMatchObject([
      {
        id: 'o-0',
        saga: { status: 'completed', input: { sku: 'cup' }, steps: steps('completed', 'completed') },
      },
      {
        id: 'o-1',
        saga: { status: 'compensated', input: { sku: 'piano' }, steps: steps('compensated', 'failed') },
      },
    ]);
    const refused = await listed.where({ sku: 'piano' }).andWhere("step.status = 'failed'").getMany();
    expect(refused).toMatchObject([{ id: 'o-1' }]);
  });

  test('have what get() has of the steps', async () => {
    const { sagas, shop } = await startWithOrders();
    const id = await run(sagas, 'piano');
    const { steps } = await sagas.get(id);
    const rows = await shop.steps.find({
      where: { sagaId: id },
      relations: { saga: true },
      order: { name: 'ASC' },
    });
    expect(
      rows.map(({ name, status, attempts, errors, updatedAt }) => ({
        name,
        status,
        attempts,
        errors: errors ?? [],
        updatedAt,
      })),
    ).toEqual(
      steps.map(({ name, status, attempts, errors, updatedAt }) => ({
        name,
        status,
        attempts,
        errors,
        updatedAt,
      })),
    );
    expect(rows[1]).toMatchObject({
      saga: { id },
      errors: [{ message: 'no van for a piano', attempt: 1, during: 'step' }],
    });
  });

  test('are for reading', async () => {
    const { sagas, shop } = await startWithOrders();
    const id = await run(sagas, 'cup');
    await expect(shop.sagas.update({ id }, { status: 'aborted' })).rejects.toThrow();
    await expect(shop.steps.update({ sagaId: id }, { status: 'pending' })).rejects.toThrow();
    await expect(shop.sagas.insert({ name: 'order' })).rejects.toThrow();
    await expect(shop.steps.delete({ sagaId: id })).rejects.toThrow();
    const saga = await shop.sagas.findOneOrFail({ where: { id }, relations: { steps: true } });
    saga.status = 'aborted';
    saga.steps!.pop();
    await shop.sagas.save(saga);
    expect((await sagas.get(id)).steps.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect((await sagas.get(id)).status).toBe('completed');
  });

  test('change nothing of the tables when it synchronizes, and generate no migration for them', async () => {
    const plain = await apps.start({ sagas: [OrderSaga] });
    const before = await objects();
    await plain.close();
    const { dataSource, sagas, shop } = await startWithOrders();
    await dataSource.synchronize();
    expect(await objects()).toEqual(before);
    const { upQueries, downQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect([upQueries, downQueries]).toEqual([[], []]);
    await apps.sql('DROP TABLE orders');
    const { upQueries: created } = await dataSource.driver.createSchemaBuilder().log();
    expect(created.map(({ query }) => query)).toEqual([expect.stringMatching(/^CREATE TABLE "orders"/)]);
    expect(await shop.sagas.countBy({ id: await run(sagas, 'cup') })).toBe(1);
  });

  test('must have no foreign key of an own entity, which would keep retention from deleting sagas', async () => {
    const Parcel = new EntitySchema<{ id: string; delivery?: SagaInstance }>({
      name: 'Parcel',
      columns: { id: { type: 'text', primary: true } },
      relations: { delivery: { type: 'many-to-one', target: 'SagaInstance' } },
    });
    await apps.start({ sagas: [OrderSaga] });
    const started = apps.start({
      ...{ sagas: [OrderSaga], dataSource: { entities: [...sagaEntities(), Parcel] } },
    });
    await expect(started).rejects.toMatchObject({
      code: 'SAGA_CONFIGURATION',
      message: expect.stringMatching(
        /^Parcel\.delivery makes a foreign key .* createForeignKeyConstraints: false/,
      ),
    });
  });
});

describe('the entities of sagas that a codec encodes', () => {
  const codec = new AesGcmCodec({ keys: { a: randomBytes(32) }, current: 'a' });
  const other = new AesGcmCodec({ keys: { b: randomBytes(32) }, current: 'b' });
  const open = async (entities: ReturnType<typeof sagaEntities>) => {
    const { sagas, dataSource } = await apps.start({
      ...{ sagas: [OrderSaga], options: { codec } },
      dataSource: { entities },
    });
    const id = await run(sagas, 'piano');
    return {
      id,
      sagas,
      read: dataSource.getRepository(SagaInstance),
      steps: dataSource.getRepository(SagaStep),
      dataSource,
    };
  };
  const whole = (id: string) => ({ where: { id }, relations: { steps: true } });

  test('are decoded with the codec', async () => {
    const { id, sagas, read } = await open(sagaEntities('saga', { codec }));
    const [saga] = await read.find({ ...whole(id), take: 1 });
    const { failure, steps } = await sagas.get(id);
    expect(saga).toMatchObject({ input: { sku: 'piano' }, error: 'no van for a piano', startedInput: null });
    expect(saga!.failure).toMatchObject({ kind: failure!.kind, step: 'ship' });
    const byName = new Map(saga!.steps!.map((step) => [step.name, step]));
    expect(byName.get('reserve')!.result).toEqual({ shelf: 'shelf of piano' });
    expect(byName.get('ship')!.errors).toEqual(steps.find(({ name }) => name === 'ship')!.errors);
    expect(JSON.stringify(saga)).not.toContain('saga:coded');
  });

  test.each([
    ['without it', undefined, /^SagaInstance\.\w+ is encoded\. Give the codec/],
    ['without the key', other, /cannot be decoded: the key 'a' is not configured/],
  ])('are refused %s, but for what is not encoded', async (_, given, message) => {
    const { id, read, steps } = await open(sagaEntities('saga', given && { codec: given }));
    await expect(read.find(whole(id))).rejects.toMatchObject({
      code: 'SAGA_CODEC',
      message: expect.stringMatching(message),
    });
    await expect(steps.findBy({ sagaId: id, name: 'reserve' })).rejects.toMatchObject({ code: 'SAGA_CODEC' });
    await expect(
      steps.find({ where: { sagaId: id, name: 'ship' }, select: { errors: true } }),
    ).rejects.toMatchObject({ code: 'SAGA_CODEC' });
    const select = { id: true, status: true, steps: { name: true, status: true } } as const;
    expect(await read.find({ ...whole(id), select, order: { steps: { name: 'ASC' } } })).toEqual([
      {
        id,
        status: 'compensated',
        steps: [
          { name: 'reserve', status: 'compensated' },
          { name: 'ship', status: 'failed' },
        ],
      },
    ]);
  });
});

test('a value of an application that only looks encoded is read as it is, with a codec', async () => {
  const codec = new AesGcmCodec({ keys: { a: randomBytes(32) }, current: 'a' });
  const { sagas, dataSource } = await apps.start({
    sagas: [OrderSaga],
    dataSource: { entities: sagaEntities('saga', { codec }) },
  });
  const { id } = await sagas.start(OrderSaga, 'saga:coded:1.a.x' as never);
  expect(await dataSource.getRepository(SagaInstance).findOneBy({ id })).toMatchObject({
    input: 'saga:coded:1.a.x',
  });
});
