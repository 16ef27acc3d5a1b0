import { BaseRpcContext } from '@nestjs/microservices';
import type { JetStreamMessage, NatsHeaders } from '../transports/nats-packages.js';

/** The delays (ms) after which messages are redelivered, if their handlers fail and have one of their own. DurableInterceptor sets them. */
export const handlersDelays = new WeakMap<JetStreamContext, number>();

/** The context that a handler of a JetStreamServer receives with `@Ctx()`. */
export class JetStreamContext extends BaseRpcContext<[JetStreamMessage]> {
  /** Returns the subject that the message was published to. */
  getSubject(): string {
    return this.args[0].subject;
  }

  /** Returns the headers, or undefined if there are none. */
  getHeaders(): NatsHeaders | undefined {
    return this.args[0].headers;
  }

  /** Returns JetStream's message. The server acknowledges it. */
  getMessage(): JetStreamMessage {
    return this.args[0];
  }
}
