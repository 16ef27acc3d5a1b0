import type { Duration } from 'nestjs-durable-saga';
import {
  LONGEST_KEY,
  LONGEST_TIMER,
  type OptionTable,
  type OptionsRead,
  type Report,
  isKey,
  kind,
  optional,
} from 'nestjs-durable-saga/internal';

/** Options of `@DurableEvent`, beside the topic. */
export interface DurableEventOptions {
  /**
   * The delay before RabbitMQ or JetStream redelivers a message whose handler failed. MQTT and Kafka have waits of their own.
   * Default: `'1s'`, and with JetStream that of the server.
   */
  readonly redeliverAfter?: Duration;
  /**
   * How often a process calls the handler with a message. After the last failure the message is published to
   * `deadLetters`, and acknowledged. It requires SagaMessagingModule. Each process counts by itself. Default: until it
   * succeeds.
   */
  readonly attempts?: number;
  /**
   * The topic of messages whose `attempts` are exhausted. Required if the topic of the handler has wildcards. The headers
   * `dead-letter-topic`, `dead-letter-id` and `dead-letter-error` say what they are. Default: the topic and `.dead`.
   */
  readonly deadLetters?: string;
  /** Options of the transport, as in `@EventPattern`: `{ queue }` of NATS, `{ qos }` of MQTT. Default: `{ qos: 1 }`. */
  readonly extras?: Record<string, unknown>;
}

export const DURABLE_EVENT_OPTIONS = {
  redeliverAfter: optional(kind.duration({ longest: LONGEST_TIMER })),
  attempts: optional(kind.count()),
  deadLetters: optional(kind.checked<string>(isKey, `give a topic of 1 to ${LONGEST_KEY} characters`)),
  extras: optional(kind.anything<Record<string, unknown>>()),
} satisfies OptionTable<DurableEventOptions>;

/** What DurableInterceptor goes by. */
export interface DurableSettings {
  readonly topic: string;
  /** Milliseconds. Undefined: the default of the transport. */
  readonly redeliverAfter?: number;
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

/** Returns the settings of a handler. Reports options that do not go together. */
export function durableSettings(
  topic: string,
  { redeliverAfter, attempts, deadLetters }: OptionsRead<typeof DURABLE_EVENT_OPTIONS>,
  report: Report,
): DurableSettings {
  if (attempts === undefined) {
    if (deadLetters !== undefined)
      report('deadLetters is set, but attempts is not', 'set both, or remove it');
    return { topic, redeliverAfter };
  }
  if (deadLetters === undefined && WILDCARD.test(topic))
    report('attempts is set, and the topic has wildcards', 'set deadLetters to the topic of dead letters');
  const dead = deadLetters ?? `${topic}.dead`;
  if (!isKey(dead))
    report(`the topic of dead letters is longer than ${LONGEST_KEY} characters`, 'set deadLetters');
  return { topic, redeliverAfter, attempts, deadLetters: dead };
}
