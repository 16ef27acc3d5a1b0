import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { Credit } from './credit.entity.js';
import { CreditService } from './credit.service.js';
import { Customer } from './customer.entity.js';
import { CreateCustomerTables } from './migrations/create-customer-tables.js';

const credits = new CreditService();
let database: TestDatabase;
let dataSource: DataSource;
let customerId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await new DataSource({
    type: 'postgres',
    url: database.url,
    entities: [Customer, Credit],
    migrations: [CreateCustomerTables],
    migrationsRun: true,
  }).initialize();
});

afterAll(async () => {
  await dataSource?.destroy();
  await database?.drop();
});

beforeEach(async () => {
  customerId = randomUUID();
  await dataSource.manager.insert(Customer, { id: customerId, name: 'Ada', creditLimit: 50_000 });
});

const reserve = (amount: number, orderId: string = randomUUID(), customer = customerId) =>
  dataSource.transaction((manager) => credits.reserve(manager, { orderId, customerId: customer, amount }));
const release = (orderId: string) =>
  dataSource.transaction((manager) => credits.release(manager, { orderId }));
const reserved = async () =>
  (await dataSource.manager.findOneByOrFail(Customer, { id: customerId })).reserved;

describe('credit', () => {
  it('is granted up to the limit, to the cent, and refused beyond', async () => {
    expect(await reserve(30_000)).toMatchObject({ granted: true });
    expect(await reserve(20_001)).toMatchObject({
      granted: false,
      reason: '200.01 is more than what is left of the credit limit, 200.00',
    });
    expect(await reserve(20_000)).toMatchObject({ granted: true });
    expect(await reserved()).toBe(50_000);
  });

  it('never exceeds the limit, however many ask at once', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => reserve(4_999)));
    expect(replies.filter(({ granted }) => granted)).toHaveLength(10);
    expect(await reserved()).toBe(49_990);
  });

  it('has one answer for an order, granted or refused', async () => {
    const [granted, refused] = [randomUUID(), randomUUID()];
    await reserve(40_000, granted);
    await reserve(40_000, refused);
    await release(granted);
    expect(await reserve(40_000, granted)).toMatchObject({ granted: false });
    expect(await reserve(40_000, refused)).toMatchObject({ granted: false });
    expect(await reserved()).toBe(0);
  });

  it('is refused to an unknown customer', async () => {
    expect(await reserve(1, randomUUID(), 'unknown')).toMatchObject({
      granted: false,
      reason: 'there is no customer unknown',
    });
  });

  it('is released once', async () => {
    const orderId = randomUUID();
    await reserve(30_000);
    await reserve(10_000, orderId);
    await release(orderId);
    await release(orderId);
    expect(await reserved()).toBe(30_000);
  });

  it('is refused when its release came first', async () => {
    const orderId = randomUUID();
    await release(orderId);
    expect(await reserve(10_000, orderId)).toMatchObject({
      granted: false,
      reason: 'the order was cancelled before',
    });
    expect(await reserved()).toBe(0);
  });

  it('and its release may come at the same time, from both sides', async () => {
    const orders = Array.from({ length: 30 }, () => randomUUID());
    await Promise.allSettled(orders.flatMap((orderId) => [reserve(1_000, orderId), release(orderId)]));
    await Promise.all(orders.map(release));
    expect(await reserved()).toBe(0);
  });
});
