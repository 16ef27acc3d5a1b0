import { Injectable } from '@nestjs/common';
import { Inbox, type IncomingMessage } from 'nestjs-durable-saga-messaging';
import { DataSource, type EntityManager } from 'typeorm';
import { Hop } from './hop.entity.js';

/** The idempotent receiver: brokers deliver at least once, and the work is done once. */
@Injectable()
export class Receiver {
  constructor(
    private readonly dataSource: DataSource,
    private readonly inbox: Inbox,
  ) {}

  /**
   * Does a message's work in one transaction with the record that it was done, and with the messages that the work
   * publishes. If it throws, nothing of this has happened, and the broker gives the message again.
   */
  async receive(
    message: IncomingMessage,
    orderId: string,
    work: (manager: EntityManager) => Promise<void>,
  ): Promise<void> {
    const { id: messageId, type, headers } = message;
    await this.dataSource.transaction(async (manager) => {
      const { handled } = await this.inbox.once(messageId, manager, () => work(manager));
      const traceparent = headers.traceparent ?? null;
      await manager.insert(Hop, { messageId, type, orderId, traceparent, handled });
    });
  }
}
