/** A message to other services, stored in the outbox and sent from there: at least once, in order per topic and key. */
export interface OutboxMessage<P = unknown> {
  /** The destination: a topic, subject, routing key or pattern, depending on the broker. At most 255 characters. */
  readonly topic: string;
  /**
   * The ordering key: messages of one topic and key arrive in the order in which they were published. Default: in a
   * saga its id, in an outbox none.
   */
  readonly key?: string;
  /** The type of the message, for its consumers. Default: the topic. */
  readonly type?: string;
  /** A value that can be stored as JSON exactly as given. `undefined` is sent as null. */
  readonly payload: P;
  /**
   * Headers of the message. Names are HTTP names (letters, digits, `-`, `_`, …), values have no control characters. The
   * names `id`, `type` and `key` are reserved. Default: none.
   */
  readonly headers?: Readonly<Record<string, string>>;
}
