import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { reportedOptions, withoutProblems } from '../../definition/options/read-options.js';
import { SagaValidationError } from '../../errors.js';
import { DurableInterceptor } from './durable.interceptor.js';
import {
  DURABLE_EVENT,
  DURABLE_EVENT_OPTIONS,
  type DurableEventOptions,
  type DurableSettings,
  durableSettings,
} from './durable-settings.js';

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
