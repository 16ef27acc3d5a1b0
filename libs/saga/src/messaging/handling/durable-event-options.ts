import type { Duration } from '../../definition/options/duration.js';

/** Options of `@DurableEvent`, beside the topic. */
export interface DurableEventOptions {
  /** The delay before the broker redelivers a message whose handler failed. Default: `'1s'`. */
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

/** The names of these options. */
export const DURABLE_EVENT_OPTIONS = [
  ...(['redeliverAfter', 'attempts', 'deadLetters', 'extras'] as const),
] satisfies (keyof DurableEventOptions)[];
