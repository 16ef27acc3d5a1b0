import { withoutContext } from '../../shared/own-context.js';
import { shown } from '../../shared/shown-value.js';
import { serializeError } from '../../engine/payload/serialize-error.js';
import { SagaCodecError } from '../../errors.js';
import type { PayloadCodec, PayloadContext } from './payload-codec.js';

/** What is encoded begins so; in a column of JSON it is a string. */
const MARK = 'saga:coded:';
const JSON_MARK = `"${MARK}`;
/** What only looks so has spaces in front: it is stored with one more. JSON does not mind. */
const LOOKS_CODED = / *"?saga:coded:/y;

/** Describes a value that is at a place. Called only if there is a codec. */
export type DescribeAt<Place> = (place: Place) => PayloadContext;

/** What becomes of payloads and texts on their way, in one direction. */
export interface Conversion {
  /** Encodes JSON text to JSON text. */
  json<Place>(text: string, contextOf: DescribeAt<Place>, place: Place): string;
  text<Place>(text: string, contextOf: DescribeAt<Place>, place: Place): string;
}

/** Nothing becomes of them. */
export const AS_IT_IS: Conversion = { json: (text) => text, text: (text) => text };

/**
 * Encodes what is stored, and decodes what is read, by a codec. What is not marked as encoded is read as it is: it was
 * stored before there was a codec. Without one nothing is encoded, and what is cannot be decoded.
 */
export class Coder {
  readonly encoding: Conversion = {
    json: (text, contextOf, place) => {
      const encoded = this.codec && this.encode(this.codec, text, contextOf(place));
      return encoded === undefined ? unmistakable(text) : JSON.stringify(MARK + encoded);
    },
    text: (text, contextOf, place) => {
      const encoded = this.codec && this.encode(this.codec, text, contextOf(place));
      return encoded === undefined ? unmistakable(text) : MARK + encoded;
    },
  };

  readonly decoding: Conversion = {
    json: (text, contextOf, place) => {
      if (!text.startsWith(JSON_MARK)) return text;
      const context = contextOf(place);
      const decoded = this.decode((JSON.parse(text) as string).slice(MARK.length), context);
      try {
        JSON.parse(decoded);
      } catch (error) {
        throw codecError(context, 'was decoded to a string that is not JSON', error);
      }
      return decoded;
    },
    text: (text, contextOf, place) =>
      text.startsWith(MARK) ? this.decode(text.slice(MARK.length), contextOf(place)) : text,
  };

  constructor(readonly codec: PayloadCodec | undefined) {}

  private encode(codec: PayloadCodec, text: string, context: PayloadContext): string | undefined {
    // As it is without a codec: what a text may be is not the codec's business.
    if (text.includes('\0')) throw codecError(context, 'contains a NUL character');
    let encoded: unknown;
    try {
      encoded = withoutContext(() => codec.encode(text, context));
    } catch (error) {
      throw codecError(context, `could not be encoded: ${serializeError(error).message}`, error);
    }
    if (encoded === undefined || isStorable(encoded)) return encoded;
    throw codecError(context, `was encoded to ${shown(encoded)}; ${RULE}`);
  }

  private decode(encoded: string, context: PayloadContext): string {
    const { codec } = this;
    if (!codec) throw codecError(context, 'is encoded, but this process has no codec');
    let decoded: unknown;
    try {
      decoded = withoutContext(() => codec.decode(encoded, context));
    } catch (error) {
      throw codecError(context, `cannot be decoded: ${serializeError(error).message}`, error);
    }
    if (typeof decoded === 'string') return decoded;
    throw codecError(context, `was decoded to ${shown(decoded)}; ${RULE}`);
  }
}

/** Returns whether a value that was read from a column is encoded, or is a record that contains something encoded. */
export function isCoded(value: unknown, isRecord: boolean): boolean {
  // JSON text may be in a record.
  if (typeof value === 'string') return value.startsWith(MARK) || (isRecord && value.startsWith(JSON_MARK));
  if (!isRecord || typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((part) => isCoded(part, isRecord));
}

const RULE = 'return a string without NUL or half surrogate pairs, and no promise: load keys before';

function isStorable(encoded: unknown): encoded is string {
  return typeof encoded === 'string' && !encoded.includes('\0') && encoded.isWellFormed();
}

function unmistakable(text: string): string {
  LOOKS_CODED.lastIndex = 0;
  return LOOKS_CODED.test(text) ? ` ${text}` : text;
}

const NAMES: Record<PayloadContext['kind'], (context: PayloadContext) => string> = {
  input: () => 'the input',
  result: ({ step }) => `the result of step '${step}'`,
  item: ({ step }) => `the item ${step}`,
  signal: ({ step, messageId }) =>
    step === undefined ? `the signal with the message id '${messageId}'` : `the signal of step '${step}'`,
  error: ({ messageId }) => (messageId === undefined ? 'an error' : `the error of message ${messageId}`),
  reason: () => 'a reason',
  report: () => 'the progress of a step',
  message: ({ messageId }) => `the payload of message ${messageId}`,
};

function codecError(context: PayloadContext, problem: string, cause?: unknown): SagaCodecError {
  const { kind, sagaId } = context;
  const of = sagaId === undefined ? '' : ` of saga ${sagaId}`;
  const what = `${NAMES[kind](context)}${of}`;
  const message = `${what[0]!.toUpperCase()}${what.slice(1)} ${problem.replace(/\.$/, '')}.`;
  return new SagaCodecError(message, sagaId, keyIdOf(cause), cause === undefined ? {} : { cause });
}

function keyIdOf(cause: unknown): string | undefined {
  try {
    const { keyId } = (cause ?? {}) as { keyId?: unknown };
    return typeof keyId === 'string' ? keyId : undefined;
  } catch {
    return undefined;
  }
}
