import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { types } from 'node:util';
import * as kind from '../../definition/options/kinds.js';
import { OptionReader, type OptionTable, required } from '../../definition/options/option-reader.js';
import { withoutProblems } from '../../definition/options/read-options.js';
import { shown } from '../../shared/shown-value.js';
import { SagaConfigurationError } from '../../errors.js';
import type { PayloadCodec, PayloadContext } from './payload-codec.js';

/** Options of `AesGcmCodec`. */
export interface AesGcmCodecOptions {
  /**
   * The keys by their ids, 32 bytes each. Ids are stored with the values: letters, digits, `-` and `_`, at most 64
   * characters.
   */
  readonly keys: Readonly<Record<string, Uint8Array>>;
  /** The id of the key that encodes. All keys decode. */
  readonly current: string;
}

const AES_OPTIONS = {
  keys: required(kind.anything<AesGcmCodecOptions['keys']>()),
  current: required(kind.anything<string>()),
} satisfies OptionTable<AesGcmCodecOptions>;
const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID = /^[\w-]{1,64}$/;
/** The form: its number, the key's id, and IV, ciphertext and tag in base64url. */
const ENVELOPE = /^1\.([\w-]{1,64})\.([\w-]+)$/;

/** A key that something was encoded by is not among those that are given. */
class UnknownKeyError extends Error {
  constructor(
    readonly keyId: string,
    known: Iterable<string>,
  ) {
    super(`the key '${keyId}' is not configured; configured keys: ${[...known].join(', ')}`);
  }
}

/** Something was changed, moved, or encoded by another key of this id. */
class UnauthenticError extends Error {
  constructor(
    readonly keyId: string,
    cause: unknown,
  ) {
    super(`it was not encoded with the key '${keyId}' for this field`, { cause });
  }
}

/**
 * Encrypts values with AES-256-GCM. Each value is bound to its saga, step or message, so that a changed or moved value
 * is detected. Each value has a random IV of 12 bytes. Add a new key before one key has encrypted 2^32 values.
 */
export class AesGcmCodec implements PayloadCodec {
  private readonly keys = new Map<string, KeyObject>();
  private readonly current: KeyObject;
  private readonly prefix: string;

  /** @throws SagaConfigurationError for invalid keys */
  constructor(options: AesGcmCodecOptions) {
    const current = withoutProblems('AesGcmCodec', SagaConfigurationError, (report) => {
      const given = new OptionReader(report).read(AES_OPTIONS, options);
      for (const [id, key] of Object.entries(given.keys ?? {})) {
        if (!KEY_ID.test(id)) report(`the key id ${shown(id)} must match ${KEY_ID.source}`, 'rename it');
        if (!types.isUint8Array(key) || key.byteLength !== KEY_BYTES)
          report(`the key '${id}' must be a Buffer of ${KEY_BYTES} bytes`, 'give randomBytes(32)');
        else this.keys.set(id, createSecretKey(key));
      }
      if (given.current === undefined || !Object.hasOwn(given.keys ?? {}, given.current))
        report(`current is ${shown(given.current)}`, 'give the id of a key');
      return given.current;
    });
    this.current = this.keys.get(current)!;
    this.prefix = `1.${current}.`;
  }

  encode(text: string, context: PayloadContext): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.current, iv);
    cipher.setAAD(placeOf(context));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return this.prefix + sealed.toString('base64url');
  }

  decode(encoded: string, context: PayloadContext): string {
    const [, keyId, body] = ENVELOPE.exec(encoded) ?? [];
    if (keyId === undefined) throw new Error('it is not in the format of AesGcmCodec');
    const key = this.keys.get(keyId);
    if (!key) throw new UnknownKeyError(keyId, this.keys.keys());
    const sealed = Buffer.from(body!, 'base64url');
    try {
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(placeOf(context));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      return (
        decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      );
    } catch (error) {
      throw new UnauthenticError(keyId, error);
    }
  }
}

function placeOf({ kind, sagaId = '', step = '', messageId = '' }: PayloadContext): Buffer {
  return Buffer.from(JSON.stringify([kind, sagaId, step, messageId]));
}
