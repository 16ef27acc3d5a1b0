import { shown } from '../shared/shown-value.js';
import type { PayloadCodec } from '../store/coded/payload-codec.js';

/** Why this is no codec, and the fix; undefined: it is one, or none is given. */
export function codecProblem(codec: unknown): [problem: string, fix: string] | undefined {
  if (codec === undefined) return undefined;
  const { encode, decode } = (codec ?? {}) as Partial<PayloadCodec>;
  if (typeof encode === 'function' && typeof decode === 'function') return undefined;
  return [`codec is ${shown(codec)}`, 'give an object with encode() and decode(), such as an AesGcmCodec'];
}
