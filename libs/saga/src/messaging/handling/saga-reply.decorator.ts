import { type OptionTable, required } from '../../definition/options/option-reader.js';
import { reportedOptions, withoutProblems } from '../../definition/options/read-options.js';
import { signalName } from '../../definition/options/signal-name.js';
import { SagaValidationError } from '../../errors.js';
import { durable } from './durable-event.decorator.js';
import { DURABLE_EVENT_OPTIONS, type DurableEventOptions, durableSettings } from './durable-settings.js';

/** Options of `@SagaReply`, beside the topic. */
export interface SagaReplyOptions extends DurableEventOptions {
  /** The signal of the reply, as in `@WaitFor({ signal })`. */
  readonly signal: string;
}

const REPLY_OPTIONS = {
  ...DURABLE_EVENT_OPTIONS,
  signal: required(signalName),
} satisfies OptionTable<SagaReplyOptions>;

/**
 * Handles replies to sagas. It works as `@DurableEvent`, and the method's result becomes the payload of a signal to the
 * saga that the message's `saga-id` header names. The signal is sent once, even if the message is delivered more than
 * once. A reply to a saga that does not exist or has ended is logged and dropped. It requires `SagaModule` in the
 * application.
 * @throws SagaValidationError for an unknown option, an invalid name of a signal, or an invalid option
 */
export function SagaReply(topic: string, options: SagaReplyOptions): MethodDecorator {
  return withoutProblems(`@SagaReply('${topic}')`, SagaValidationError, (report) => {
    const given = reportedOptions(REPLY_OPTIONS, options, report);
    return durable({ ...durableSettings(topic, given, report), signal: given.signal }, given);
  });
}
