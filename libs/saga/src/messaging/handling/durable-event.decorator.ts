import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { Duration } from '../../definition/options/duration.js';
import { readOptions } from '../../nest/calls/call-options.js';
import { DurableInterceptor } from './durable.interceptor.js';
import { DURABLE_EVENT, type DurableSettings, redelivery } from './durable-settings.js';

/** What `@DurableEvent` takes beside the topic. */
export interface DurableEventOptions {
  /**
   * After a handler threw, the message is given back to the broker only after this time, so that it does not come back
   * at once, for ever; default `'1s'`.
   */
  readonly redeliverAfter?: Duration;
  /** For the transport, as `@EventPattern` takes them: `{ queue }` of NATS, `{ qos }` of MQTT. Default `{ qos: 1 }`. */
  readonly extras?: Record<string, unknown>;
}

/** So that, where the broker is asked for it, each message is delivered at least once. */
const AT_LEAST_ONCE = { qos: 1 };

/**
 * Takes messages of a topic: an `@EventPattern` whose message is acknowledged only after the handler has resolved, and
 * given back when it throws, so that none is lost, and some come twice: do the work in `Inbox.once`. For
 * RabbitMQ use `DurableRmqServer`, for MQTT `DurableMqttServer`, for NATS `JetStreamServer`. Core NATS and Redis have no
 * acknowledgements: what fails there is lost.
 * @throws SagaValidationError for an unknown option, or when redeliverAfter is no duration
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
