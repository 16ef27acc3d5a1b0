/** A message on its way to the broker. */
export interface RelayedMessage {
  /** A UUID; the same each time that it is sent again. */
  readonly id: string;
  /** Where to. */
  readonly topic: string;
  /** Messages of one topic and key are sent in order. */
  readonly key: string;
  /** What kind of message it is. */
  readonly type: string;
  /** JSON text. */
  readonly payload: string;
  /** What goes with it; `id`, `type` and `key` included. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends messages to a broker. Implement it for one that `ClientProxyTransport` and `JetStreamTransport` do not know. */
export interface MessageTransport {
  /**
   * Resolves once the broker has the message for good, and no sooner: after that it is deleted here. Is called for many
   * messages side by side, but never for two of one topic and key.
   * @throws MessageRefusedError when the broker refused this message; it counts against its attempts. Any other error
   * only counts if the broker takes others right after it; what fails together is an outage.
   */
  send(message: RelayedMessage): Promise<void>;
  /** When the application stops. */
  close?(): Promise<void>;
}
