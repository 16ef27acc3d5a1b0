import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  Body,
  Controller,
  Headers,
  HttpCode,
  Injectable,
  Module,
  NotFoundException,
  Post,
  type RawBodyRequest,
  Req,
  UnauthorizedException,
} from '@nestjs/common';
import {
  type CompensationContext,
  Saga,
  SagaNotFoundError,
  SagaService,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from 'nestjs-durable-saga';
import {
  MessageRefusedError,
  type MessageTransport,
  type RelayedMessage,
  SagaMessagingModule,
} from 'nestjs-durable-saga-messaging';

export interface Order {
  id: string;
  customer: string;
  cents: number;
}

/** The event that the payment provider posts. */
export interface PaymentEvent {
  /** The same on every delivery. */
  id: string;
  /** Our reference: the saga's id, which we passed with the payment. */
  reference: string;
  status: 'paid' | 'refused';
  payment: string;
}

@Injectable()
export class Checkouts {
  /** Opens a page on which the customer pays. The provider reports the result later, by a webhook. */
  async open(_order: Order, reference: string, _key: string): Promise<{ url: string }> {
    return { url: `https://pay.example/${reference}` };
  }
  /** Accepts no more payments with this reference, and refunds existing ones, once, even if it is called several times. */
  async close(_reference: string, _key: string): Promise<void> {}
}

@Saga({ name: 'place-order' })
export class PlaceOrderSaga {
  constructor(private readonly checkouts: Checkouts) {}

  @Step({ compensate: 'closeCheckout' })
  openCheckout(ctx: StepContext<Order>): Promise<{ url: string }> {
    return this.checkouts.open(ctx.input, ctx.sagaId, ctx.idempotencyKey);
  }
  /** Uses the reference: every payment is refunded, whether or not the saga has received its event. */
  closeCheckout(ctx: CompensationContext<Order, { url: string }>): Promise<void> {
    return this.checkouts.close(ctx.sagaId, ctx.idempotencyKey);
  }

  /** Half an hour to pay; then the order is compensated. */
  @WaitFor({ signal: 'payment', timeout: '30m' })
  pay(_ctx: StepContext<Order>, event: PaymentEvent): { payment: string } {
    if (event.status === 'refused') throw new StepRejectedError('the payment was refused');
    return { payment: event.payment };
  }

  /** Each customer receives its events in order: the key is the customer. */
  @Step()
  confirm(ctx: StepContext<Order>): void {
    const { id, customer } = ctx.input;
    ctx.publish({ topic: 'order-webhooks', key: customer, type: 'order.placed', payload: { order: id } });
  }
}

/** Refunds a payment that arrived after the order was compensated. */
@Saga({ name: 'return-late-payment', onFailure: 'suspend' })
export class ReturnLatePaymentSaga {
  constructor(private readonly checkouts: Checkouts) {}

  @Step({ retry: { attempts: 20, delay: '1s', maxDelay: '1h' } })
  close(ctx: StepContext<{ reference: string }>): Promise<void> {
    return this.checkouts.close(ctx.input.reference, ctx.idempotencyKey);
  }
}

/** Create the application with `NestFactory.create(AppModule, { rawBody: true })`: the signature covers the bytes. */
@Controller('webhooks')
export class PaymentWebhooks {
  constructor(private readonly sagas: SagaService) {}

  @Post('payments')
  @HttpCode(204)
  async receive(
    @Req() request: RawBodyRequest<object>,
    @Headers('x-signature') signature: string | undefined,
    @Body() event: PaymentEvent,
  ): Promise<void> {
    if (!isSigned(request.rawBody, signature)) throw new UnauthorizedException();
    try {
      await this.sagas.signal(event.reference, 'payment', event, { messageId: event.id });
    } catch (error) {
      // Its start may not be committed yet. The provider retries for some days.
      if (error instanceof SagaNotFoundError) throw new NotFoundException();
      if (!(error instanceof SagaStateError)) throw error; // 500: the provider retries
      await this.tooLate(event);
    }
  }

  /** The order has ended without this payment. One saga for each event, even if it is delivered several times. */
  private async tooLate({ id, status, reference }: PaymentEvent): Promise<void> {
    if (status !== 'paid') return;
    await this.sagas.start(ReturnLatePaymentSaga, { reference }, { correlationId: id });
  }
}

export function signatureOf(body: Buffer | string): string {
  return createHmac('sha256', process.env.WEBHOOK_SECRET ?? 'secret')
    .update(body)
    .digest('hex');
}

function isSigned(body: Buffer | undefined, signature = ''): boolean {
  const [expected, given] = [Buffer.from(signatureOf(body ?? '')), Buffer.from(signature)];
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** Sends what sagas publish to the customers' own endpoints. */
@Injectable()
export class WebhookTransport implements MessageTransport {
  constructor(private readonly urlOf: (message: RelayedMessage) => string | undefined) {}

  async send(message: RelayedMessage): Promise<void> {
    const url = this.urlOf(message);
    if (url === undefined) return; // the customer wants no webhooks
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-event-id': message.id, // the same on every attempt: receivers use it to detect duplicates
        'x-event-type': message.type,
        'x-signature': signatureOf(message.payload),
      },
      body: message.payload,
      signal: AbortSignal.timeout(10_000),
    });
    if (response.status === 410 || response.status === 422)
      throw new MessageRefusedError(`${url} refuses event ${message.id}: ${response.status}`);
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
  }
}

@Module({
  imports: [
    SagaMessagingModule.forRoot({
      transport: new WebhookTransport(({ key }) => process.env[`WEBHOOK_OF_${key}`]),
      relay: { retry: { attempts: 20, delay: '1s', maxDelay: '1h' } },
    }),
  ],
  controllers: [PaymentWebhooks],
  providers: [PlaceOrderSaga, ReturnLatePaymentSaga, Checkouts],
})
export class WebhooksModule {}
