/** A message that a transport sends to the broker. */
export interface RelayedMessage {
  /** A UUID, the same each time the message is sent. */
  readonly id: string;
  /** The destination. */
  readonly topic: string;
  /** Messages of one topic and key are sent in order. */
  readonly key: string;
  /** The type of the message. */
  readonly type: string;
  /** The payload as JSON text. */
  readonly payload: string;
  /** The headers, including `id`, `type` and `key`. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends messages to a broker. Implement it for a broker that `ClientProxyTransport` and `JetStreamTransport` do not
 * support.
 */
export interface MessageTransport {
  /**
   * Sends a message, and resolves when the broker has stored it; then the message is deleted from the outbox. It is
   * called for many messages concurrently, but never for two messages of one topic and key.
   * @throws MessageRefusedError if the broker rejects this message; the attempt counts. Any other error counts only if
   * the broker accepts other messages right after it; otherwise it is an outage.
   */
  send(message: RelayedMessage): Promise<void>;
  /** Closes the transport when the application stops. */
  close?(): Promise<void>;
}
