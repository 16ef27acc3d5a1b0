import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { runHandler } from '../../../libs/messaging/src/servers/run-handler.js';

/** A server in memory, by which a test delivers messages to the handlers of an application. */
export class MemoryServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Symbol('memory');

  listen(callback: () => void): void {
    callback();
  }

  close(): void {}

  on(): never {
    throw new Error('MemoryServer has no events');
  }

  unwrap(): never {
    throw new Error('MemoryServer has no connection');
  }

  /** Resolves if the handler acknowledges the message, and rejects if the broker has to deliver it again. */
  deliver(topic: string, payload: unknown): Promise<void> {
    return runHandler(this.getHandlerByPattern(topic) as never, payload, {}, this);
  }
}
