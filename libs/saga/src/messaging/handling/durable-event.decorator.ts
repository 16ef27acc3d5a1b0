import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { Duration } from '../../definition/options/duration.js';
import { readOptions } from '../../nest/calls/call-options.js';
import { DurableInterceptor } from './durable.interceptor.js';
import { DURABLE_EVENT, type DurableSettings, redelivery } from './durable-settings.js';

/** Options of `@DurableEvent`, beside the topic. */
export interface DurableEventOptions {
  /** The delay before the broker redelivers a message whose handler failed. Default: `'1s'`. */
  readonly redeliverAfter?: Duration;
  /** Options of the transport, as in `@EventPattern`: `{ queue }` of NATS, `{ qos }` of MQTT. Default: `{ qos: 1 }`. */
  readonly extras?: Record<string, unknown>;
}

/** The options that make an MQTT broker deliver each message at least once. */
const AT_LEAST_ONCE = { qos: 1 };

/**
 * Handles messages of a topic. It is an `@EventPattern` whose message is acknowledged after the handler has resolved,
 * and redelivered after the handler has failed. A message may be delivered more than once: do the work in `Inbox.once`.
 * For RabbitMQ use `DurableRmqServer`, for MQTT `DurableMqttServer`, for NATS `JetStreamServer`. Core NATS and Redis
 * have no acknowledgements: a message whose handler fails is lost.
 * @throws SagaValidationError for an unknown option, or if redeliverAfter is not a duration
 */
export function DurableEvent(topic: string, options: DurableEventOptions = {}): MethodDecorator {
  const owner = `@DurableEvent('${topic}')`;
  const given = readOptions(owner, options, ['redeliverAfter', 'extras']);
  return durable({ topic, redeliverAfter: redelivery(given.redeliverAfter, owner) }, given);
}

export function durable(settings: DurableSettings, { extras }: DurableEventOptions): MethodDecorator {
  return applyDecorators(
    SetMetadata(DURABLE_EVENT, settings),
    EventPattern(settings.topic, { ...AT_LEAST_ONCE, ...extras }) as MethodDecorator,
    UseInterceptors(DurableInterceptor),
  );
}
