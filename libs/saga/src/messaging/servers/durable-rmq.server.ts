import { type RmqOptions, ServerRMQ } from '@nestjs/microservices';

/** The part of amqp-connection-manager that is used. */
interface ConnectionManager {
  createChannel(options: object): {
    on(event: 'error', listener: (error: Error) => void): unknown;
  };
}

/**
 * RabbitMQ as `@DurableEvent` needs it: messages are acknowledged by the handlers' outcome (`noAck: false`), and a
 * connection that is lost while its channel is set up is tried again. Nest's own server would end the process there, since
 * nobody listens to the channel's errors: `{ strategy: new DurableRmqServer({ urls, queue, … }) }`.
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
