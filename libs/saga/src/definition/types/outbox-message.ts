/** A message to other services, stored in the outbox and sent from there: at least once, in order per topic and key. */
export interface OutboxMessage<P = unknown> {
  /** Where to: a topic, subject, routing key or pattern, as the broker calls it. At most 255 characters. */
  readonly topic: string;
  /**
   * Messages of one topic and key arrive in the order in which they were published. Default: in a saga its id, in an
   * outbox none.
   */
  readonly key?: string;
  /** What kind of message it is, for those who read it; default: the topic. */
  readonly type?: string;
  /** Anything that can be stored as JSON exactly as given; undefined is sent as null. */
  readonly payload: P;
  /**
   * Go with the message. Names are HTTP's (letters, digits, `-`, `_`, …), values have no control characters. The names
   * `id`, `type` and `key` are the message's own. Default: none.
   */
  readonly headers?: Readonly<Record<string, string>>;
}
