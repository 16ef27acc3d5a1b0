import { Controller } from '@nestjs/common';
import { Incoming, type IncomingMessage, SagaReply } from 'nestjs-durable-saga-messaging';
import type { CreditReply, Released } from '../messages/customer-messages.js';
import type { PaymentReply, Refunded } from '../messages/payment-messages.js';
import { CREDIT_RELEASES, CUSTOMER_REPLIES, PAYMENT_REFUNDS, PAYMENT_REPLIES } from '../messages/topics.js';
import { Receiver } from '../service/receiver.js';

/** Hands the services' answers to the sagas that wait for them; what is returned is the signal's payload. */
@Controller()
export class RepliesController {
  constructor(private readonly receiver: Receiver) {}

  @SagaReply(CUSTOMER_REPLIES, { signal: 'credit-reply' })
  credit(@Incoming() message: IncomingMessage<CreditReply>): Promise<CreditReply> {
    return this.noted(message);
  }

  @SagaReply(PAYMENT_REPLIES, { signal: 'payment-reply' })
  payment(@Incoming() message: IncomingMessage<PaymentReply>): Promise<PaymentReply> {
    return this.noted(message);
  }

  @SagaReply(CREDIT_RELEASES, { signal: 'credit-released' })
  released(@Incoming() message: IncomingMessage<Released>): Promise<Released> {
    return this.noted(message);
  }

  @SagaReply(PAYMENT_REFUNDS, { signal: 'payment-refunded' })
  refunded(@Incoming() message: IncomingMessage<Refunded>): Promise<Refunded> {
    return this.noted(message);
  }

  /** An answer that comes again goes to its saga again, which knows its id: the journal alone is no delivery. */
  private async noted<Reply extends { readonly orderId: string }>(
    message: IncomingMessage<Reply>,
  ): Promise<Reply> {
    await this.receiver.receive(message, message.payload.orderId, async () => undefined);
    return message.payload;
  }
}
