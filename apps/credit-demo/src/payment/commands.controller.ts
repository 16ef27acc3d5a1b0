import { Controller, Logger } from '@nestjs/common';
import { DurableEvent, Incoming, type IncomingMessage, Outbox } from 'nestjs-durable-saga-messaging';
import type { EntityManager } from 'typeorm';
import type { PaymentCommand, Refunded } from '../messages/payment-messages.js';
import { PAYMENT_COMMANDS, PAYMENT_REFUNDS, PAYMENT_REPLIES } from '../messages/topics.js';
import { Receiver } from '../service/receiver.js';
import { PaymentService } from './payment.service.js';

/** What other services ask of this one, by messages. */
@Controller()
export class CommandsController {
  private readonly log = new Logger(CommandsController.name);

  constructor(
    private readonly receiver: Receiver,
    private readonly payments: PaymentService,
    private readonly outbox: Outbox,
  ) {}

  @DurableEvent(PAYMENT_COMMANDS)
  async handle(@Incoming() message: IncomingMessage<PaymentCommand['payload']>): Promise<void> {
    const command = message as unknown as PaymentCommand;
    await this.receiver.receive(message, command.payload.orderId, (manager) => this.obey(command, manager));
  }

  private async obey(command: PaymentCommand, manager: EntityManager): Promise<void> {
    switch (command.type) {
      case 'request-payment': {
        const payload = await this.payments.pay(manager, command.payload);
        await this.outbox.reply(manager, { topic: PAYMENT_REPLIES, type: 'payment-reply', payload });
        return;
      }
      case 'refund-payment': {
        await this.payments.refund(manager, command.payload);
        const payload: Refunded = { orderId: command.payload.orderId };
        await this.outbox.reply(manager, { topic: PAYMENT_REFUNDS, type: 'payment-refunded', payload });
        return;
      }
      default:
        // If this throws, the command is delivered again, for ever.
        this.log.warn(`Nothing is known of commands of the type '${(command as { type: string }).type}'`);
    }
  }
}
