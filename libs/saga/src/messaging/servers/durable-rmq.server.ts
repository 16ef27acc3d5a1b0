import { type RmqOptions, ServerRMQ } from '@nestjs/microservices';

/** The part of amqp-connection-manager that is used. */
interface ConnectionManager {
  createChannel(options: object): {
    on(event: 'error', listener: (error: Error) => void): unknown;
  };
}

/**
 * A RabbitMQ server for `@DurableEvent`. It acknowledges messages by the handlers' outcome (`noAck: false`), and
 * reconnects if the connection is lost while its channel is set up. Nest's own server would end the process, because it
 * does not handle the channel's errors: `{ strategy: new DurableRmqServer({ urls, queue, … }) }`.
 */
export class DurableRmqServer extends ServerRMQ {
  constructor(options: Omit<NonNullable<RmqOptions['options']>, 'noAck'>) {
    super({ ...options, noAck: false });
    this.surviveErrors();
  }

  /** Not by overriding: Nest 11 makes the manager at once and takes it so, Nest 12 gives a promise of it. */
  private surviveErrors(): void {
    const server = this as unknown as { createClient(): ConnectionManager | Promise<ConnectionManager> };
    const create = server.createClient.bind(server);
    server.createClient = () => {
      const made = create();
      return made instanceof Promise ? made.then((manager) => this.listened(manager)) : this.listened(made);
    };
  }

  private listened(manager: ConnectionManager): ConnectionManager {
    const create = manager.createChannel.bind(manager);
    manager.createChannel = (options) => {
      const channel = create(options);
      channel.on('error', (error) => void this.logger.error(error));
      return channel;
    };
    return manager;
  }
}
