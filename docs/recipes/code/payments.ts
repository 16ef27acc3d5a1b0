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

/** A payment as the provider stores it. */
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

  /** Cancels the authorization with this reference, or refunds the capture; does nothing if there is neither. */
  async release(reference: string, key: string, signal: AbortSignal): Promise<void> {
    await this.post('/releases', { reference }, key, signal);
  }

  /** The payment with this reference, if there is one. */
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
      // The connection broke before the response: the request may have taken effect.
      throw new UnknownOutcomeError('payments: no answer', { cause: error });
    }
    if (response.status === 402) throw new StepRejectedError(`payments: ${await response.text()}`);
    if (response.status === 504) throw new UnknownOutcomeError('payments: timed out behind the gateway');
    if (!response.ok) throw new Error(`payments: ${response.status}`); // retried
    return (await response.json()) as Payment;
  }
}

@Injectable()
export class Warehouse {
  /** Sends the goods, once for each key; refuses goods that are out of stock. */
  async ship(orderId: string, _key: string): Promise<{ parcel: string }> {
    return { parcel: `parcel of ${orderId}` };
  }
  /** Stops the parcel, or recalls it, if there is one. */
  async recall(_orderId: string, _key: string): Promise<void> {}
}

@Saga({ name: 'checkout', timeout: '1h', compensationRetry: { attempts: 20, delay: '1s', maxDelay: '1h' } })
export class CheckoutSaga {
  constructor(
    private readonly payments: PaymentProvider,
    private readonly warehouse: Warehouse,
  ) {}

  /** Reserves the money; nothing is captured yet. */
  @Step({ compensate: 'release', probe: 'isAuthorized', timeout: '10s', retry: { attempts: 5, delay: '1s' } })
  authorize(ctx: StepContext<Checkout>): Promise<Payment> {
    return this.payments.authorize(ctx.input, ctx.sagaId, ctx.idempotencyKey, ctx.signal);
  }

  /** Called if the outcome of the authorization is unknown: it reads, and changes nothing. */
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

  /** Uses our reference, because the payment's id may be lost. Correct in every state of the payment. */
  async release(ctx: CompensationContext<Checkout, Payment>): Promise<void> {
    await this.payments.release(ctx.sagaId, ctx.idempotencyKey, ctx.signal);
  }

  /** Compensated if it is unknown whether the parcel has left. */
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
