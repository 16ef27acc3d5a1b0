import { Controller, Logger } from '@nestjs/common';
import { DurableEvent, Incoming, type IncomingMessage, Outbox } from 'nestjs-durable-saga-messaging';
import type { EntityManager } from 'typeorm';
import type { CustomerCommand, Released } from '../messages/customer-messages.js';
import { CREDIT_RELEASES, CUSTOMER_COMMANDS, CUSTOMER_REPLIES } from '../messages/topics.js';
import { Receiver } from '../service/receiver.js';
import { CreditService } from './credit.service.js';

/** What other services ask of this one, by messages. */
@Controller()
export class CommandsController {
  private readonly log = new Logger(CommandsController.name);

  constructor(
    private readonly receiver: Receiver,
    private readonly credits: CreditService,
    private readonly outbox: Outbox,
  ) {}

  @DurableEvent(CUSTOMER_COMMANDS)
  async handle(@Incoming() message: IncomingMessage<CustomerCommand['payload']>): Promise<void> {
    const command = message as unknown as CustomerCommand;
    await this.receiver.receive(message, command.payload.orderId, (manager) => this.obey(command, manager));
  }

  private async obey(command: CustomerCommand, manager: EntityManager): Promise<void> {
    switch (command.type) {
      case 'reserve-credit': {
        const payload = await this.credits.reserve(manager, command.payload);
        await this.outbox.reply(manager, { topic: CUSTOMER_REPLIES, type: 'credit-reply', payload });
        return;
      }
      case 'release-credit': {
        await this.credits.release(manager, command.payload);
        const payload: Released = { orderId: command.payload.orderId };
        await this.outbox.reply(manager, { topic: CREDIT_RELEASES, type: 'credit-released', payload });
        return;
      }
      default:
        // If this throws, the command is delivered again, for ever.
        this.log.warn(`Unknown type of command: '${(command as { type: string }).type}'`);
    }
  }
}
