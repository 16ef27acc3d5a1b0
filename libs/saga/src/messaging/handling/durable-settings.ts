import { LONGEST_TIMER, toMilliseconds } from '../../definition/options/duration.js';
import { isKey, LONGEST_KEY } from '../../engine/payload/storable-key.js';
import { SagaValidationError } from '../../errors.js';
import { shown } from '../../shared/shown-value.js';
import type { DurableEventOptions } from './durable-event-options.js';

/** What DurableInterceptor goes by. */
export interface DurableSettings {
  readonly topic: string;
  /** Milliseconds. */
  readonly redeliverAfter: number;
  /** After so many failures a message goes to `deadLetters`. Undefined: it is delivered until it is handled. */
  readonly attempts?: number;
  readonly deadLetters?: string;
  /** The signal that a reply is. */
  readonly signal?: string;
}

/** The key of a handler's metadata. */
export const DURABLE_EVENT = 'nestjs-durable-saga:durable-event';

/** The parts of a pattern that stand for any topic, of NATS, MQTT and RabbitMQ. */
const WILDCARD = /[*+#>]/;

/**
 * Returns the settings of a handler.
 * @param owner the decorator, for messages
 * @throws SagaValidationError
 */
export function durableSettings(
  topic: string,
  { redeliverAfter = '1s', attempts, deadLetters }: DurableEventOptions,
  owner: string,
): DurableSettings {
  const settings = {
    topic,
    redeliverAfter: toMilliseconds(redeliverAfter, `${owner} redeliverAfter`, LONGEST_TIMER),
  };
  if (attempts === undefined) {
    if (deadLetters === undefined) return settings;
    throw new SagaValidationError(
      `${owner}: deadLetters is set, but attempts is not; set both, or remove it.`,
    );
  }
  if (!Number.isInteger(attempts) || attempts < 1)
    throw new SagaValidationError(`${owner}: attempts is ${shown(attempts)}; give a whole number from 1.`);
  if (deadLetters === undefined && WILDCARD.test(topic))
    throw new SagaValidationError(
      `${owner}: attempts is set, and the topic has wildcards; set deadLetters to the topic of dead letters.`,
    );
  const dead = deadLetters ?? `${topic}.dead`;
  if (!isKey(dead))
    throw new SagaValidationError(
      `${owner}: deadLetters is ${shown(dead)}; give a topic of 1 to ${LONGEST_KEY} characters.`,
    );
  return { ...settings, attempts, deadLetters: dead };
}
