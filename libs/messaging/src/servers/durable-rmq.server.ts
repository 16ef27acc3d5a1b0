import { type RmqOptions, ServerRMQ } from '@nestjs/microservices';

/** The part of amqplib's channel that is used. */
interface Channel {
  consume(...call: unknown[]): Promise<unknown>;
}

interface ChannelOptions {
  readonly setup: (channel: Channel) => Promise<void>;
}

/** The part of amqp-connection-manager that is used. */
interface ConnectionManager {
  createChannel(options: ChannelOptions): {
    on(event: 'error', listener: (error: Error) => void): unknown;
  };
}

/**
 * A RabbitMQ server for `@DurableEvent`. It acknowledges messages by the handlers' outcome (`noAck: false`), and
 * reconnects if the connection is lost while its channel is set up. Nest's own server would end the process, because it
 * handles neither the channel's errors nor a refused request to consume:
 * `{ strategy: new DurableRmqServer({ urls, queue, … }) }`.
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
      const channel = create({ ...options, setup: (made) => options.setup(this.consuming(made)) });
      channel.on('error', (error) => void this.logger.error(error));
      return channel;
    };
    return manager;
  }

  /** Nest does not wait for the answer to `consume()`, which is an error if the connection is lost meanwhile. */
  private consuming(channel: Channel): Channel {
    const consume = channel.consume.bind(channel);
    channel.consume = (...call) => {
      const answer = consume(...call);
      answer.catch((error: unknown) => void this.logger.error(error));
      return answer;
    };
    return channel;
  }
}
