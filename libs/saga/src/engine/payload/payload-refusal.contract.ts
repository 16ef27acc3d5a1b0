import { SagaPayloadError } from '../../errors.js';
import { encodePayload } from './payload.js';

/** The error with which a value is refused. */
export function refusal(value: unknown, maxBytes = 2 ** 20): SagaPayloadError {
  try {
    encodePayload(value, 'input', maxBytes);
  } catch (error) {
    expect(error).toBeInstanceOf(SagaPayloadError);
    return error as SagaPayloadError;
  }
  throw new Error('stored where a refusal was expected');
}

/** Objects and arrays within each other, so many levels of them. */
export function nested(levels: number): unknown {
  let value: unknown = 'deep';
  for (let i = 0; i < levels; i += 1) value = i % 2 === 0 ? { a: value } : [value];
  return value;
}
