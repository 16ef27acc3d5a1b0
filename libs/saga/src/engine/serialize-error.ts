import type { SerializedError } from '../definition/saga-failure.js';

const LONGEST_MESSAGE = 4_000;
const LONGEST_STACK = 8_000;
const DEEPEST_CAUSE = 4;

/** Anything that can be thrown, as something that can be stored. Never throws itself, whatever its getters do. */
export function serializeError(thrown: unknown, depth = 0): SerializedError {
  const read = (key: string): unknown => {
    try {
      return (thrown as Record<string, unknown>)[key];
    } catch {
      return undefined;
    }
  };
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) {
    return { name: 'NonError', message: storable(describe(thrown), LONGEST_MESSAGE) };
  }
  const [name, message, code, stack, cause] = ['name', 'message', 'code', 'stack', 'cause'].map(read);
  const serialized: SerializedError = {
    name: storable(typeof name === 'string' && name !== '' ? name : 'NonError', 200),
    message: storable(typeof message === 'string' ? message : describe(thrown), LONGEST_MESSAGE),
  };
  if (typeof code === 'string' || typeof code === 'number') serialized.code = storable(String(code), 200);
  if (typeof stack === 'string') serialized.stack = storable(stack, LONGEST_STACK);
  if (cause !== undefined && cause !== null && depth < DEEPEST_CAUSE) {
    serialized.cause = serializeError(cause, depth + 1);
  }
  return serialized;
}

function describe(thrown: unknown): string {
  try {
    if (typeof thrown === 'object') return JSON.stringify(thrown) ?? 'object';
    // eslint-disable-next-line @typescript-eslint/no-base-to-string -- objects do not come here
    return String(thrown);
  } catch {
    return typeof thrown;
  }
}

function storable(text: string, longest: number): string {
  const wellFormed = text.replaceAll('\0', '\u2400').toWellFormed();
  // Cutting may split a surrogate pair once more.
  return wellFormed.length <= longest ? wellFormed : `${wellFormed.slice(0, longest).toWellFormed()}…`;
}
