/** What a payload is, and whose: the same for encode() and decode() of a value, so that it can be bound to its place. */
export interface PayloadContext {
  /**
   * `item`: of what a `forEach` step goes over. `signal`: what a signal brought, an approval's decision included.
   * `error`: a message, a stack, or the text that a saga's row shows. `reason`: what an operator gave as one.
   * `message`: the payload of a message in the outbox.
   */
  readonly kind: 'input' | 'result' | 'item' | 'signal' | 'error' | 'reason' | 'message';
  /** The saga whose it is; undefined: of messages, and of signals that no step has taken. */
  readonly sagaId?: string;
  /** The step whose it is; of an item with its index, such as `charge[2]`. */
  readonly step?: string;
  /** The id of the message, or of the signal. */
  readonly messageId?: string;
}

/**
 * Changes what sagas were given and gave before it is stored, and back when it is read: encryption, for one.
 *
 * Both calls are synchronous, since they are part of every checkpoint, of which one statement carries many: keys are
 * loaded before the application starts (forRootAsync). Whatever they throw is a SagaCodecError to those who asked.
 */
export interface PayloadCodec {
  /**
   * What is to be stored for a text; undefined: the text itself.
   * @param text of a payload its JSON
   * @returns a string without NUL and half surrogate pairs
   */
  encode(text: string, context: PayloadContext): string | undefined;
  /**
   * The text that encode() was given.
   * @param encoded what it returned
   * @throws when that cannot be told: the saga is then left to a process that can. An error with a `keyId` says which
   * key is missing.
   */
  decode(encoded: string, context: PayloadContext): string;
}
