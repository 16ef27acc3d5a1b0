import type { Serde } from '@restatedev/restate-sdk';

const MAP = '$map';

/**
 * JSON in which maps stay maps. What is undefined is left out of objects, and stays undefined in lists, as a map of nothing:
 * a parameter that is null has no default.
 */
const TEXT: Serde<unknown> = {
  contentType: 'application/json',
  serialize: (value) => Buffer.from(value === undefined ? '' : toText(value)),
  deserialize: (bytes) => (bytes.length === 0 ? undefined : fromText(Buffer.from(bytes).toString())),
};

export function textOf<T>(): Serde<T> {
  return TEXT as Serde<T>;
}

export function toText(value: unknown): string {
  return JSON.stringify(value, toPlain);
}

export function fromText(text: string): unknown {
  return fromPlain(JSON.parse(text));
}

function toPlain(this: unknown, _key: string, value: unknown): unknown {
  if (value === undefined) return Array.isArray(this) ? { [MAP]: null } : undefined;
  if (isMap(value)) return { [MAP]: [...value] };
  requireComplete(value);
  return value;
}

/** What an object has by accessors of its class, such as `get id()`, would not come back. */
function requireComplete(value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // The prototype of plain objects has none. Tests have a realm, with an `Object`, of their own.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return;
  const hasAccessors = Object.values(Object.getOwnPropertyDescriptors(prototype)).some(
    (own) => own.get !== undefined,
  );
  if (hasAccessors) throw new TypeError(`${value.constructor.name} cannot be stored: it has accessors`);
}

/** The steps of a saga with items are a map of the engine's own. And tests have a realm, with a `Map`, of their own. */
function isMap(value: unknown): value is ReadonlyMap<unknown, unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'get' in value;
}

/** Changes the value itself: most of it stays as it is. */
function fromPlain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const plain = value as Record<string, unknown>;
  if (plain[MAP] === null) return undefined;
  if (Array.isArray(plain[MAP])) return new Map(fromPlain(plain[MAP]) as [unknown, unknown][]);
  for (const key of Object.keys(plain)) {
    const item = fromPlain(plain[key]);
    if (item !== plain[key]) plain[key] = item;
  }
  return plain;
}
