import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { StepRejectedError, UnknownOutcomeError } from 'nestjs-durable-saga';
import { SagaTest } from 'nestjs-durable-saga/testing';
import { CheckoutSaga, PaymentProvider, Warehouse } from './payments.js';

interface PaymentRecord {
  id: string;
  reference: string;
  cents: number;
  captured: boolean;
  released: boolean;
}

/** A payment provider over HTTP that does each request once for its key, as those that people use do. */
class TestProvider {
  readonly payments: PaymentRecord[] = [];
  private readonly answers = new Map<string, { status: number; body: unknown }>();
  /** Does what is asked, and breaks the connection in place of the answer. */
  losesAnswers = 0;
  private readonly server: Server = createServer((request, response) => {
    void this.answer(request).then(({ status, body }) => {
      if (request.method === 'POST' && this.losesAnswers > 0) {
        this.losesAnswers -= 1;
        request.socket.destroy();
        return;
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });

  url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this.url();
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  forget(): void {
    this.payments.length = 0;
    this.answers.clear();
    this.losesAnswers = 0;
  }

  /** In cents: what is held on cards, and what was taken from them for good. */
  get books() {
    const open = this.payments.filter(({ released }) => !released);
    const sum = (some: PaymentRecord[]) => some.reduce((cents, payment) => cents + payment.cents, 0);
    return {
      held: sum(open.filter(({ captured }) => !captured)),
      taken: sum(open.filter(({ captured }) => captured)),
    };
  }

  private async answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const { pathname, searchParams } = new URL(request.url!, 'http://provider');
    if (request.method === 'GET')
      return {
        status: 200,
        body: this.payments.filter(({ reference }) => reference === searchParams.get('reference')),
      };
    const key = request.headers['idempotency-key'] as string;
    const body = JSON.parse(await text(request)) as Record<string, never>;
    if (!this.answers.has(key)) this.answers.set(key, this.perform(pathname, body));
    return this.answers.get(key)!;
  }

  private perform(path: string, body: { cents?: number; cardToken?: string; reference?: string }) {
    if (path === '/payments') {
      if (body.cardToken === 'declined') return { status: 402, body: 'declined' };
      const id = `payment-${this.payments.length + 1}`;
      const payment = {
        id,
        reference: body.reference!,
        cents: body.cents!,
        captured: false,
        released: false,
      };
      this.payments.push(payment);
      return { status: 201, body: payment };
    }
    if (path === '/releases') {
      for (const payment of this.payments) if (payment.reference === body.reference) payment.released = true;
      return { status: 200, body: {} };
    }
    const payment = this.payments.find(({ id }) => path === `/payments/${id}/capture`)!;
    payment.captured = true;
    return { status: 200, body: payment };
  }
}

describe('the payments recipe', () => {
  const provider = new TestProvider();
  const shipped = new Set<string>();
  const warehouse: Warehouse = {
    ship: async (orderId) => {
      shipped.add(orderId);
      return { parcel: 'parcel-1' };
    },
    recall: async (orderId) => void shipped.delete(orderId),
  };
  let checkout: SagaTest<CheckoutSaga>;
  const input = { orderId: 'order-1', cents: 4_200, cardToken: 'visa' };

  beforeAll(async () => {
    const url = await provider.open();
    checkout = SagaTest.of(CheckoutSaga)
      .provide(PaymentProvider, new PaymentProvider(url))
      .provide(Warehouse, warehouse);
  });
  const forget = () => {
    provider.forget();
    shipped.clear();
  };
  beforeEach(forget);
  afterAll(() => provider.close());

  test('takes the money of an order that is shipped, once', async () => {
    const { outcome } = await checkout.run(input);
    expect(outcome.status).toBe('completed');
    expect(provider.books).toEqual({ held: 0, taken: 4_200 });
  });

  test('rolls back immediately when the card is declined', async () => {
    const { outcome, trace } = await checkout.run({ ...input, cardToken: 'declined' });
    expect(outcome.failure?.kind).toBe('rejected');
    expect(trace).toEqual(['authorize']);
  });

  test('gives everything back when the goods cannot be sent', async () => {
    const { outcome } = await checkout.failing('ship', new StepRejectedError('out of stock')).run(input);
    expect(outcome.status).toBe('compensated');
    expect(provider.books).toEqual({ held: 0, taken: 0 });
  });

  test('finds out by the probe what an answer that got lost would have said, and pays once', async () => {
    provider.losesAnswers = 1;
    const { outcome, trace } = await checkout.run(input);
    expect(outcome.status).toBe('completed');
    expect(trace.slice(0, 2)).toEqual(['authorize', 'isAuthorized']);
    expect(provider.books).toEqual({ held: 0, taken: 4_200 });
    expect(provider.payments).toHaveLength(1);
  });

  test('tells an answer that got lost from a refusal and from a failure', async () => {
    const signal = AbortSignal.timeout(5_000);
    const payments = new PaymentProvider(provider.url());
    provider.losesAnswers = 1;
    await expect(payments.authorize(input, 'r', 'k1', signal)).rejects.toBeInstanceOf(UnknownOutcomeError);
    const declined = payments.authorize({ ...input, cardToken: 'declined' }, 'r', 'k2', signal);
    await expect(declined).rejects.toBeInstanceOf(StepRejectedError);
  });

  test('keeps the books right in every way in which it can fail', async () => {
    const report = await checkout.everyFailure(
      input,
      ({ outcome }) => {
        const isPaid = outcome.status === 'completed';
        expect({ ...provider.books, parcels: shipped.size }).toEqual({
          ...{ held: 0, taken: isPaid ? 4_200 : 0, parcels: isPaid ? 1 : 0 },
        });
      },
      { beforeEach: forget },
    );
    expect(report.points.length).toBeGreaterThan(15);
  });
});
