import { Injectable, Module } from '@nestjs/common';
import {
  type CompensationContext,
  type ProbeAnswer,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  UnknownOutcomeError,
} from 'nestjs-durable-saga';

export interface Checkout {
  orderId: string;
  cents: number;
  cardToken: string;
}

/** A payment as the provider knows it. */
export interface Payment {
  id: string;
  captured: boolean;
}

/**
 * The payment provider, over HTTP. Every payment carries our reference, and every call a key: the provider does the work
 * once for each key.
 */
@Injectable()
export class PaymentProvider {
  constructor(private readonly url = process.env.PAYMENTS_URL ?? 'http://localhost:4000') {}

  authorize(checkout: Checkout, reference: string, key: string, signal: AbortSignal): Promise<Payment> {
    const { cents, cardToken } = checkout;
    return this.post('/payments', { cents, cardToken, reference }, key, signal);
  }

  capture({ id }: Payment, key: string, signal: AbortSignal): Promise<Payment> {
    return this.post(`/payments/${id}/capture`, {}, key, signal);
  }

  /** Lets go of what was authorized under a reference, or pays back what was captured; nothing where there is nothing. */
  async release(reference: string, key: string, signal: AbortSignal): Promise<void> {
    await this.post('/releases', { reference }, key, signal);
  }

  /** What was paid under a reference, if anything was. */
  async find(reference: string, signal: AbortSignal): Promise<Payment | undefined> {
    const response = await fetch(`${this.url}/payments?reference=${reference}`, { signal });
    if (!response.ok) throw new Error(`payments: ${response.status}`);
    const [payment] = (await response.json()) as Payment[];
    return payment;
  }

  private async post(path: string, body: object, key: string, signal: AbortSignal): Promise<Payment> {
    let response: Response;
    try {
      response = await fetch(`${this.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        signal,
      });
    } catch (error) {
      // Sent, perhaps, and done, perhaps: the connection broke before the answer.
      throw new UnknownOutcomeError('payments: no answer', { cause: error });
    }
    if (response.status === 402) throw new StepRejectedError(`payments: ${await response.text()}`);
    if (response.status === 504) throw new UnknownOutcomeError('payments: timed out behind the gateway');
    if (!response.ok) throw new Error(`payments: ${response.status}`); // tried again
    return (await response.json()) as Payment;
  }
}

@Injectable()
export class Warehouse {
  /** Sends the goods, once for each key; refuses what is out of stock. */
  async ship(orderId: string, _key: string): Promise<{ parcel: string }> {
    return { parcel: `parcel of ${orderId}` };
  }
  /** Stops the parcel, or has it brought back, if there is one. */
  async recall(_orderId: string, _key: string): Promise<void> {}
}

@Saga({ name: 'checkout', timeout: '1h', compensationRetry: { attempts: 20, delay: '1s', maxDelay: '1h' } })
export class CheckoutSaga {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly warehouse: Warehouse,
  ) {}

  /** Money is set aside, and nothing is taken yet. */
  @Step({ compensate: 'release', probe: 'isAuthorized', timeout: '10s', retry: { attempts: 5, delay: '1s' } })
  authorize(ctx: StepContext<Checkout>): Promise<Payment> {
    return this.payments.authorize(ctx.input, ctx.sagaId, ctx.idempotencyKey, ctx.signal);
  }

  /** Asked when nobody knows whether the authorization happened: it looks, and changes nothing. */
  async isAuthorized(ctx: StepContext<Checkout>): Promise<ProbeAnswer<Payment>> {
    const payment = await this.payments.find(ctx.sagaId, ctx.signal);
    return payment ? { done: payment } : 'unknown';
  }

  @Step({ compensate: 'release', probe: 'isCaptured', timeout: '10s', retry: { attempts: 5, delay: '1s' } })
  capture(ctx: StepContext<Checkout, CheckoutSaga>): Promise<Payment> {
    return this.payments.capture(ctx.results.authorize, ctx.idempotencyKey, ctx.signal);
  }

  async isCaptured(ctx: StepContext<Checkout>): Promise<ProbeAnswer<Payment>> {
    const payment = await this.payments.find(ctx.sagaId, ctx.signal);
    return payment?.captured ? { done: payment } : 'unknown';
  }

  /** By our reference, since the payment's id may be what got lost. Right in whichever state the payment is. */
  async release(ctx: CompensationContext<Checkout, Payment>): Promise<void> {
    await this.payments.release(ctx.sagaId, ctx.idempotencyKey, ctx.signal);
  }

  /** Undone where nobody knows whether the parcel has left. */
  @Step({ compensate: 'recall', timeout: '30s' })
  ship(ctx: StepContext<Checkout>): Promise<{ parcel: string }> {
    return this.warehouse.ship(ctx.input.orderId, ctx.idempotencyKey);
  }
  recall(ctx: CompensationContext<Checkout, { parcel: string }>): Promise<void> {
    return this.warehouse.recall(ctx.input.orderId, ctx.idempotencyKey);
  }
}

@Module({
  providers: [CheckoutSaga, Warehouse, { provide: PaymentProvider, useFactory: () => new PaymentProvider() }],
})
export class CheckoutModule {}
