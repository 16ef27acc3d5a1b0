import { randomUUID } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import { DatabaseServer } from 'demo-support';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { DatabaseModule } from './database/database.module.js';
import { FaultsService } from './faults/faults.service.js';
import { InventoryModule } from './inventory/inventory.module.js';
import { InventoryService } from './inventory/inventory.service.js';
import type { Call } from './participant/call.js';
import { AnswerLostError, RefusedError, UnavailableError } from './participant/participant-errors.js';
import { PaymentModule } from './payment/payment.module.js';
import { PaymentService } from './payment/payment.service.js';
import { ShippingModule } from './shipping/shipping.module.js';
import { ShippingService } from './shipping/shipping.service.js';

const DESKS = 40;
const address = { name: 'Ada', street: '1 Engine Lane', city: 'Leiden', country: 'NL' };

let database: TestDatabase;
let app: TestingModule;

beforeAll(async () => {
  database = await createTestDatabase();
  app = await Test.createTestingModule({
    imports: [DatabaseModule, InventoryModule, PaymentModule, ShippingModule],
  })
    .overrideProvider(DatabaseServer)
    .useValue({ url: database.url })
    .compile();
  await app.init();
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

/** Each participant as the saga uses it, and its effects on an order as its own tables have them. */
const PARTICIPANTS = {
  inventory: {
    act: (orderId: string, call: Call) =>
      app.get(InventoryService).reserve({ orderId, sku: 'walnut-desk', quantity: 3 }, call),
    undo: (orderId: string, call: Call) =>
      app.get(InventoryService).release({ orderId, sku: 'walnut-desk' }, call),
    effects: async () =>
      (DESKS - (await app.get(InventoryService).stock()).find((s) => s.sku === 'walnut-desk')!.onHand) / 3,
  },
  payment: {
    act: (orderId: string, call: Call) =>
      app.get(PaymentService).charge({ orderId, amount: 100, paymentToken: 'tok_visa' }, call),
    undo: (orderId: string, call: Call) => app.get(PaymentService).refund({ orderId }, call),
    effects: async (orderId: string) =>
      (await app.get(PaymentService).ledger(orderId)).reduce((sum, entry) => sum + entry.amount, 0) / 100,
  },
  shipping: {
    act: (orderId: string, call: Call) =>
      app.get(ShippingService).ship({ orderId, parcels: 1, address }, call),
    undo: (orderId: string, call: Call) => app.get(ShippingService).cancel({ orderId }, call),
    effects: async (orderId: string) =>
      (await app.get(ShippingService).shipments(orderId)).filter(({ status }) => status === 'booked').length,
  },
} as const;

describe.each(Object.keys(PARTICIPANTS) as (keyof typeof PARTICIPANTS)[])('%s', (name) => {
  const { act, undo, effects } = PARTICIPANTS[name];
  let orderId: string;
  let doing: Call;
  let undoing: Call;

  beforeEach(() => {
    orderId = randomUUID();
    doing = { idempotencyKey: `${orderId}:do` };
    undoing = { idempotencyKey: `${orderId}:do:compensate` };
  });

  afterEach(async () => {
    await app.get(FaultsService).clear();
    await undo(orderId, undoing);
  });

  it('does a request once, however often and from how many sides it comes', async () => {
    const [first, ...others] = await Promise.all([1, 2, 3, 4].map(() => act(orderId, doing)));
    others.push(await act(orderId, doing));
    expect(others).toEqual([first, first, first, first]);
    expect(await effects(orderId)).toBe(1);
  });

  it('repeats a lost answer when the call is repeated', async () => {
    await app.get(FaultsService).set(name, { mode: 'ambiguous', times: 1, delay: 0 });
    await expect(act(orderId, doing)).rejects.toThrow(AnswerLostError);
    expect(await effects(orderId)).toBe(1);
    await expect(act(orderId, doing)).resolves.toBeDefined();
    expect(await effects(orderId)).toBe(1);
  });

  it('does nothing while it is down, and works afterwards', async () => {
    await app.get(FaultsService).set(name, { mode: 'failing', times: 2, delay: 0 });
    await expect(act(orderId, doing)).rejects.toThrow(UnavailableError);
    await expect(act(orderId, doing)).rejects.toThrow(UnavailableError);
    expect(await effects(orderId)).toBe(0);
    await act(orderId, doing);
    expect(await effects(orderId)).toBe(1);
  });

  it('compensates once', async () => {
    await act(orderId, doing);
    const first = await undo(orderId, undoing);
    expect(await undo(orderId, undoing)).toEqual(first);
    await undo(orderId, { idempotencyKey: `${orderId}:another` });
    expect(await effects(orderId)).toBe(0);
  });

  it('refuses what comes after it was undone', async () => {
    await undo(orderId, undoing);
    await expect(act(orderId, doing)).rejects.toThrow(RefusedError);
    expect(await effects(orderId)).toBe(0);
  });
});
