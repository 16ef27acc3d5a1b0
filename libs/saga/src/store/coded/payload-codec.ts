import * as kind from '../../definition/options/kinds.js';

/**
 * Describes a value, identically for encode() and decode(), so that an encoded value can be bound to its saga and step.
 */
export interface PayloadContext {
  /**
   * The kind of the value. `item`: an item of a `forEach` step. `signal`: the payload of a signal, including decisions
   * of approvals. `error`: a message, a stack, or the error text of a saga's row. `reason`: the reason of an operator, also for a pause
   * of a step or of a schedule, or for a shard.
   * `message`: the payload of a message in the outbox. `report`: the progress and the last heartbeats of a saga's steps.
   */
  readonly kind: 'input' | 'result' | 'item' | 'signal' | 'error' | 'reason' | 'message' | 'report';
  /** The saga of the value. Undefined for messages, for signals that no step has received, and for
   * reasons that concern no single saga. */
  readonly sagaId?: string;
  /** The step of the value. For an item, with its index, such as `charge[2]`. */
  readonly step?: string;
  /** The id of the message or of the signal. */
  readonly messageId?: string;
}

/**
 * Encodes values of sagas before they are stored, and decodes them when they are read, for example to encrypt them.
 *
 * Both methods are synchronous, because they are part of every checkpoint. Load keys before the application starts
 * (forRootAsync). Any error that they throw becomes a SagaCodecError.
 */
export interface PayloadCodec {
  /**
   * Returns the string to store for a text, or undefined to store the text itself.
   * @param text the text; for a payload, its JSON
   * @returns a string without NUL and half surrogate pairs
   */
  encode(text: string, context: PayloadContext): string | undefined;
  /**
   * Returns the text that encode() received.
   * @param encoded the result of encode()
   * @throws if it cannot decode the text: the saga is then left to a process that can. A `keyId` of the error names the
   * missing key.
   */
  decode(encoded: string, context: PayloadContext): string;
}

export const CODEC_RULE = 'give an object with encode() and decode(), such as an AesGcmCodec';
export const payloadCodec = kind.checked<PayloadCodec>(isCodec, CODEC_RULE);

export function isCodec(given: unknown): boolean {
  const { encode, decode } = (given ?? {}) as Partial<PayloadCodec>;
  return typeof encode === 'function' && typeof decode === 'function';
}
