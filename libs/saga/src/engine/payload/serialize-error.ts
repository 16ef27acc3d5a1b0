import { cut, shown } from '../../shared/shown-value.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';

const LONGEST_MESSAGE = 4_000;
const LONGEST_STACK = 8_000;
const DEEPEST_CAUSE = 4;
/** An object that is thrown is described as JSON, if it has no more parts than this. */
const MOST_PARTS = 1_000;

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
  const [name, given, code, trace, cause] = ['name', 'message', 'code', 'stack', 'cause'].map(read);
  const message = typeof given === 'string' ? withoutParameters(given, name, read) : given;
  const isCut = typeof message === 'string' && message !== given;
  const stack = isCut && typeof trace === 'string' ? trace.replace(given as string, () => message) : trace;
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

/** Layers of databases put the parameters of a statement into the messages of its errors: those of Drizzle, and of Prisma. */
function withoutParameters(message: string, name: unknown, read: (key: string) => unknown): string {
  const query = read('query');
  if (typeof query === 'string' && Array.isArray(read('params')) && message.startsWith('Failed query: '))
    return `Failed query: ${query}`;
  if (typeof name !== 'string' || !name.startsWith('PrismaClient')) return message;
  // The call with its arguments is between the first line and the last paragraph.
  const [first = '', ...others] = message.trim().split(/\n\s*\n/);
  const last = others.at(-1) ?? '';
  const told = [first.split('\n')[0], last].filter((part) => part !== '').join(' ');
  return told.replace(/Message: `[^]*`/, 'Message: ***');
}

function describe(thrown: unknown): string {
  try {
    if (typeof thrown === 'object') return jsonOf(thrown) ?? 'object';
    // oxlint-disable-next-line typescript/no-base-to-string -- objects do not come here
    return String(thrown);
  } catch {
    return typeof thrown === 'object' ? shown(thrown) : typeof thrown;
  }
}

/** @throws what its getters do, and for one that JSON cannot carry, or that would take for ever */
function jsonOf(thrown: unknown): string | undefined {
  let parts = 0;
  return JSON.stringify(thrown, (_, part: unknown) => {
    parts += 1;
    if (parts > MOST_PARTS) throw new RangeError('too many properties');
    return typeof part === 'string' ? cut(part, LONGEST_MESSAGE) : part;
  });
}

function storable(text: string, longest: number): string {
  return cut(text, longest).replaceAll('\0', '\u2400');
}
