import { BaseRpcContext } from '@nestjs/microservices';
import type { JetStreamMessage, NatsHeaders } from '../transports/nats-packages.js';

/** What a handler of a JetStreamServer finds with `@Ctx()`. */
export class JetStreamContext extends BaseRpcContext<[JetStreamMessage]> {
  /** The subject that the message was published to. */
  getSubject(): string {
    return this.args[0].subject;
  }

  /** Its headers; undefined: it has none. */
  getHeaders(): NatsHeaders | undefined {
    return this.args[0].headers;
  }

  /** JetStream's own; it is acknowledged by the server. */
  getMessage(): JetStreamMessage {
    return this.args[0];
  }
}
