import { durable, type DurableEventOptions } from './durable-event.decorator.js';
import { redelivery } from './durable-settings.js';

/** What `@SagaReply` takes beside the topic. */
export interface SagaReplyOptions extends DurableEventOptions {
  /** The signal that the reply is, as `@WaitFor({ signal })` names it. */
  readonly signal: string;
}

/**
 * Takes replies to sagas: as `@DurableEvent`, and what the method returns becomes the payload of a signal to the saga
 * that the message's `saga-id` header names, once, however often the message is delivered. A reply to a saga that does
 * not exist or has ended is logged and dropped. Needs `SagaModule` in the application.
 * @throws SagaValidationError when redeliverAfter is no duration
 */
export function SagaReply(topic: string, options: SagaReplyOptions): MethodDecorator {
  const redeliverAfter = redelivery(options.redeliverAfter, `@SagaReply('${topic}')`);
  return durable({ topic, redeliverAfter, signal: options.signal }, options);
}
