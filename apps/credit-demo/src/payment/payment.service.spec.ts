import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/test-database.js';
import { CreatePaymentTable } from './migrations/create-payment-table.js';
import { Payment } from './payment.entity.js';
import { PaymentService } from './payment.service.js';

const payments = new PaymentService();
let database: TestDatabase;
let dataSource: DataSource;
let orderId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await new DataSource({
    type: 'postgres',
    url: database.url,
    entities: [Payment],
    migrations: [CreatePaymentTable],
    migrationsRun: true,
  }).initialize();
});

afterAll(async () => {
  await dataSource?.destroy();
  await database?.drop();
});

beforeEach(() => {
  orderId = randomUUID();
});

const pay = (expires: string) =>
  dataSource.transaction((manager) =>
    payments.pay(manager, { orderId, amount: 4_999, card: { token: 'tok_visa', expires } }),
  );
const refund = () => dataSource.transaction((manager) => payments.refund(manager, { orderId }));
const status = async () => (await dataSource.manager.findOneByOrFail(Payment, { orderId })).status;

describe('a payment', () => {
  it('is made once for an order, and has one id', async () => {
    const replies = await Promise.all([pay('2099-12'), pay('2099-12'), pay('2099-12')]);
    expect(replies[0]).toMatchObject({ paid: true });
    expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
  });

  it('is possible in the last month of a card, and refused afterwards', async () => {
    expect(await pay(new Date().toISOString().slice(0, 7))).toMatchObject({ paid: true });
    orderId = randomUUID();
    expect(await pay('2020-01')).toMatchObject({ paid: false, reason: 'the card expired after 2020-01' });
    expect(await status()).toBe('refused');
  });

  it('is refunded, and not taken again', async () => {
    await pay('2099-12');
    await refund();
    await refund();
    expect(await status()).toBe('refunded');
    expect(await pay('2099-12')).toMatchObject({ paid: false });
  });

  it('is refused when its refund came first', async () => {
    await refund();
    expect(await pay('2099-12')).toMatchObject({ paid: false, reason: 'the order was cancelled before' });
  });
});
