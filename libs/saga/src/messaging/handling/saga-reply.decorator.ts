import { shown } from '../../shared/shown-value.js';
import { signalNameFlaw } from '../../definition/options/signal-name.js';
import { SagaValidationError } from '../../errors.js';
import { readOptions } from '../../nest/calls/call-options.js';
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
 * @throws SagaValidationError for an unknown option, no name of a signal, or when redeliverAfter is no duration
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
