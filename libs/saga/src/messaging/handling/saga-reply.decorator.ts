import { shown } from '../../shared/shown-value.js';
import { signalNameFlaw } from '../../definition/options/signal-name.js';
import { SagaValidationError } from '../../errors.js';
import { readOptions } from '../../nest/calls/call-options.js';
import { durable } from './durable-event.decorator.js';
import { DURABLE_EVENT_OPTIONS, type DurableEventOptions } from './durable-event-options.js';
import { durableSettings } from './durable-settings.js';

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
 * @throws SagaValidationError for an unknown option, an invalid name of a signal, or an invalid option
 */
export function SagaReply(topic: string, options: SagaReplyOptions): MethodDecorator {
  const owner = `@SagaReply('${topic}')`;
  const given = readOptions(owner, options, ['signal', ...DURABLE_EVENT_OPTIONS]);
  const flaw = signalNameFlaw(given.signal);
  if (flaw !== undefined)
    throw new SagaValidationError(`${owner}: signal is ${shown(given.signal)}; ${flaw}.`);
  return durable({ ...durableSettings(topic, given, owner), signal: given.signal! }, given);
}
