import { shown } from '../../shared/shown-value.js';
import { signalNameFlaw } from '../../definition/options/signal-name.js';
import { SagaValidationError } from '../../errors.js';
import { readOptions } from '../../nest/calls/call-options.js';
import { durable, type DurableEventOptions } from './durable-event.decorator.js';
import { redelivery } from './durable-settings.js';

/** Options of `@SagaReply`, beside the topic. */
export interface SagaReplyOptions extends DurableEventOptions {
  /** The signal of the reply, as in `@WaitFor({ signal })`. */
  readonly signal: string;
}

/**
 * Handles replies to sagas. It works as `@DurableEvent`, and the method's result becomes the payload of a signal to the
 * saga that the message's `saga-id` header names. The signal is sent once, even if the message is delivered more than
 * once. A reply to a saga that does not exist or has ended is logged and dropped. It requires `SagaModule` in the
 * application.
 * @throws SagaValidationError for an unknown option, an invalid name of a signal, or if redeliverAfter is not a
 * duration
 */
export function SagaReply(topic: string, options: SagaReplyOptions): MethodDecorator {
  const owner = `@SagaReply('${topic}')`;
  const given = readOptions(owner, options, ['signal', 'redeliverAfter', 'extras']);
  const flaw = signalNameFlaw(given.signal);
  if (flaw !== undefined)
    throw new SagaValidationError(`${owner}: signal is ${shown(given.signal)}; ${flaw}.`);
  const redeliverAfter = redelivery(given.redeliverAfter, owner);
  return durable({ topic, redeliverAfter, signal: given.signal! }, given);
}
