import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Gate, until } from '../../../test/support/gate.js';
import { RecipeApps } from './recipe-apps.js';
import { Checkouts, type PaymentEvent, PlaceOrderSaga, signatureOf, WebhooksModule } from './webhooks.js';

interface Delivery {
  readonly id: string;
  readonly body: string;
  readonly signature: string;
}

/** A customer's endpoint, which is down for the first of the deliveries. */
class Endpoint {
  readonly deliveries: Delivery[] = [];
  failures = 0;
  private readonly server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      const header = (name: string) => request.headers[name] as string;
      this.deliveries.push({ id: header('x-event-id'), body, signature: header('x-signature') });
      response.writeHead(this.failures-- > 0 ? 503 : 200).end();
    });
  });

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

describe('the webhooks recipe', () => {
  const apps = RecipeApps.onOwnDatabase();
  const endpoint = new Endpoint();
  /** What the provider holds of each order's money; and a gate that closing waits at. */
  const money = new Map<string, number>();
  let closing = Promise.resolve();
  const order = { id: 'order-1', customer: 'ada', cents: 4_200 };

  beforeAll(async () => {
    process.env.WEBHOOK_OF_ada = await endpoint.open();
  });
  beforeEach(() => {
    endpoint.deliveries.length = 0;
    money.clear();
    closing = Promise.resolve();
  });
  afterAll(() => endpoint.close());

  const open = async () => {
    const app = await apps.start({ module: { imports: [WebhooksModule] } });
    app.nest.get(Checkouts).close = async (reference) => {
      await closing;
      if (money.has(reference)) money.set(reference, 0);
    };
    return app;
  };
  const post = async (url: string, event: PaymentEvent, signed = true): Promise<number> => {
    if (signed && !money.has(event.reference)) money.set(event.reference, order.cents);
    const body = JSON.stringify(event);
    const response = await fetch(`${url}/webhooks/payments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-signature': signed ? signatureOf(body) : 'forged' },
      body,
    });
    return response.status;
  };
  const paid = (reference: string, id = `event of ${reference}`): PaymentEvent => ({
    ...{ id, reference, status: 'paid', payment: 'payment-1' },
  });

  test('completes an order that is paid, and tells the customer, whose endpoint was down at first', async () => {
    const { sagas, url } = await open();
    endpoint.failures = 1;
    const handle = await sagas.start(PlaceOrderSaga, order);
    expect(await post(url, paid(handle.id))).toBe(204);
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('completed');
    await until(() => endpoint.deliveries.length === 2);
    const [first, second] = endpoint.deliveries;
    expect(second).toEqual(first);
    expect(second).toEqual(expect.objectContaining({ body: '{"order":"order-1"}' }));
    expect(second!.signature).toBe(signatureOf(second!.body));
  });

  test('keeps an event that comes before the saga waits for it', async () => {
    const { sagas, url } = await open();
    const handle = await sagas.start(PlaceOrderSaga, order, { delay: '300ms' });
    expect(await post(url, paid(handle.id))).toBe(204);
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('completed');
  });

  test('takes an event once, however often it is delivered, also after the end', async () => {
    const { sagas, operations, url } = await open();
    const handle = await sagas.start(PlaceOrderSaga, order);
    const statuses = await Promise.all([1, 2, 3].map(() => post(url, paid(handle.id))));
    await handle.outcome({ timeout: '10s' });
    expect([...statuses, await post(url, paid(handle.id))]).toEqual([204, 204, 204, 204]);
    expect(await operations.history(handle.id)).toHaveLength(1);
    expect(money.get(handle.id)).toBe(order.cents);
  });

  test('pays back what was paid after the order had turned back', async () => {
    const { sagas, url } = await open();
    const handle = await sagas.start(PlaceOrderSaga, order);
    await sagas.cancel(handle.id, { reason: 'the customer changed her mind' });
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('compensated');
    const late = paid(handle.id, 'late');
    expect([await post(url, late), await post(url, late)]).toEqual([204, 204]);
    await sagas.wait({ saga: 'return-late-payment', correlationId: 'late' }, { timeout: '10s' });
    expect(money.get(handle.id)).toBe(0);
  });

  test('pays back what is paid while the order turns back', async () => {
    const { sagas, url } = await open();
    const handle = await sagas.start(PlaceOrderSaga, order);
    await until(async () => (await sagas.get(handle.id)).waitingFor?.kind === 'signal');
    const gate = new Gate();
    closing = gate.opened;
    await sagas.cancel(handle.id);
    await until(async () => (await sagas.get(handle.id)).status === 'compensating');
    expect(await post(url, paid(handle.id))).toBe(204); // kept, and never taken
    gate.open();
    expect((await handle.outcome({ timeout: '10s' })).status).toBe('compensated');
    expect(money.get(handle.id)).toBe(0);
  });

  test('refuses what is not signed, and asks to be told again of a saga that is not there yet', async () => {
    const { sagas, url } = await open();
    const handle = await sagas.start(PlaceOrderSaga, order);
    expect(await post(url, paid(handle.id), false)).toBe(401);
    expect(await post(url, paid('00000000-0000-7000-8000-000000000000'))).toBe(404);
  });
});
