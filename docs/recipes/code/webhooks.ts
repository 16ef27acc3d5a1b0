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
} from 'nestjs-durable-saga/messaging';

export interface Order {
  id: string;
  customer: string;
  cents: number;
}

/** What the payment provider posts. */
export interface PaymentEvent {
  /** The same on every delivery of it. */
  id: string;
  /** Ours: the saga's id, as we gave it with the payment. */
  reference: string;
  status: 'paid' | 'refused';
  payment: string;
}

@Injectable()
export class Checkouts {
  /** Opens a page on which the customer pays; the provider tells us later what came of it, by a webhook. */
  async open(_order: Order, reference: string, _key: string): Promise<{ url: string }> {
    return { url: `https://pay.example/${reference}` };
  }
  /** No payment is taken under this reference any more, and what was paid is paid back, once, however often it is called. */
  async close(_reference: string, _key: string): Promise<void> {}
}

@Saga({ name: 'place-order' })
export class PlaceOrderSaga {
  constructor(private readonly checkouts: Checkouts) {}

  @Step({ compensate: 'closeCheckout' })
  openCheckout(ctx: StepContext<Order>): Promise<{ url: string }> {
    return this.checkouts.open(ctx.input, ctx.sagaId, ctx.idempotencyKey);
  }
  /** By the reference: whatever was paid by now is given back, whether the saga has heard of it or not. */
  closeCheckout(ctx: CompensationContext<Order, { url: string }>): Promise<void> {
    return this.checkouts.close(ctx.sagaId, ctx.idempotencyKey);
  }

  /** Half an hour to pay; then the order turns back. */
  @WaitFor({ signal: 'payment', timeout: '30m' })
  pay(_ctx: StepContext<Order>, event: PaymentEvent): { payment: string } {
    if (event.status === 'refused') throw new StepRejectedError('the payment was refused');
    return { payment: event.payment };
  }

  /** Customers are told in the order in which things happened to them: the key is the customer. */
  @Step()
  confirm(ctx: StepContext<Order>): void {
    const { id, customer } = ctx.input;
    ctx.publish({ topic: 'order-webhooks', key: customer, type: 'order.placed', payload: { order: id } });
  }
}

/** Pays back what came after the order had turned back. */
@Saga({ name: 'return-late-payment', onFailure: 'suspend' })
export class ReturnLatePaymentSaga {
  constructor(private readonly checkouts: Checkouts) {}

  @Step({ retry: { attempts: 20, delay: '1s', maxDelay: '1h' } })
  close(ctx: StepContext<{ reference: string }>): Promise<void> {
    return this.checkouts.close(ctx.input.reference, ctx.idempotencyKey);
  }
}

/** The application is made with `NestFactory.create(AppModule, { rawBody: true })`: signatures are of bytes. */
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
      // Perhaps its start has not been committed yet. The provider asks again, and gives up after some days.
      if (error instanceof SagaNotFoundError) throw new NotFoundException();
      if (!(error instanceof SagaStateError)) throw error; // 500: the provider asks again
      await this.tooLate(event);
    }
  }

  /** The order has ended without this payment. One saga for each event, however often that is delivered. */
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
        'x-event-id': message.id, // the same on every attempt: receivers go by it
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
