import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { SagaValidationError } from 'nestjs-durable-saga';
import {
  type OptionTable,
  reportedOptions,
  required,
  signalName,
  withoutProblems,
} from 'nestjs-durable-saga/internal';
import {
  DURABLE_EVENT,
  DURABLE_EVENT_OPTIONS,
  type DurableEventOptions,
  type DurableSettings,
  durableSettings,
} from './durable-settings.js';
import { DurableInterceptor } from './durable.interceptor.js';

/** The options that make an MQTT broker deliver each message at least once. */
const AT_LEAST_ONCE = { qos: 1 };

/**
 * Handles messages of a topic. It is an `@EventPattern` whose message is acknowledged after the handler has resolved,
 * and redelivered after the handler has failed. A message may be delivered more than once: do the work in `Inbox.once`.
 * For RabbitMQ use `DurableRmqServer`, for MQTT `DurableMqttServer`, for NATS `JetStreamServer`. Core NATS and Redis
 * have no acknowledgements: a message whose handler fails is lost.
 * @throws SagaValidationError for an unknown or an invalid option
 */
export function DurableEvent(topic: string, options: DurableEventOptions = {}): MethodDecorator {
  return withoutProblems(`@DurableEvent('${topic}')`, SagaValidationError, (report) => {
    const given = reportedOptions(DURABLE_EVENT_OPTIONS, options, report);
    return durable(durableSettings(topic, given, report), given);
  });
}

export function durable(settings: DurableSettings, { extras }: DurableEventOptions): MethodDecorator {
  return applyDecorators(
    SetMetadata(DURABLE_EVENT, settings),
    EventPattern(settings.topic, { ...AT_LEAST_ONCE, ...extras }) as MethodDecorator,
    UseInterceptors(DurableInterceptor),
  );
}

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
