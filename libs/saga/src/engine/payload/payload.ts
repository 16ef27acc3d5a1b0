import { types } from 'node:util';
import { SagaPayloadError } from '../../errors.js';
import { serializeError } from './serialize-error.js';
import { TURN_BUDGET } from '../../shared/turn-budget.js';
import { stepOfPath } from '../../shared/value-path.js';

/** Deeper values are refused: PostgreSQL's JSON parser and everyone's tools have a limit not far beyond. */
const DEEPEST = 500;
/** A value takes a byte as JSON, or more; so often as many characters of text are read to tell its exact size. */
const ROOM_PER_BYTE = 16;
/** What each element of a list takes beside its text, in characters of payloads. */
const CHARACTERS_PER_ELEMENT = 50;

/** One walk through a value. */
interface Walk {
  readonly what: string;
  readonly maxBytes: number;
  /** The objects around the one that is looked at, and the keys by which each was reached from the one around it. */
  readonly around: object[];
  readonly keys: (string | number)[];
  /**
   * What may be read yet, in characters, before it is certain that the whole is too large. Without this bound a few
   * arrays that hold each other twice, or a getter that makes ever more, would take for ever.
   */
  room: number;
  /** The outcome of it, if a part was refused: told by this, since a getter may throw a proxy that itself throws. */
  refusal?: SagaPayloadError;
}

/**
 * A value as JSON text, or undefined for undefined.
 *
 * What JSON cannot carry is refused rather than changed in silence: bigint, NaN and infinities, functions,
 * symbols, cycles, Map, Set, Error, RegExp, Promise and binary data, objects that hold private data only (Response,
 * Headers, iterators, classes with private fields), undefined inside an array, and strings that PostgreSQL cannot
 * hold (NUL, lone surrogates). Defined changes: a Date, or whatever has `toJSON()`, is
 * stored as what that returns; properties that are undefined are left out, and so is what is not enumerable or
 * not named by a string; class instances become plain objects, boxed primitives plain ones; -0 becomes 0.
 *
 * @param what the name of the value, with which the path in an error begins: `input`, `result`
 * @throws SagaPayloadError naming the path
 */
export function encodePayload(value: unknown, what: string, maxBytes: number): string | undefined {
  const text = jsonOf(value, what, maxBytes);
  if (text === undefined) return undefined;
  TURN_BUDGET.spend(text.length);
  requireBytes(text.length * 3 > maxBytes ? Buffer.byteLength(text) : 0, what, maxBytes);
  return text;
}

function requireBytes(bytes: number, what: string, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new SagaPayloadError(
    `${what} has ${bytes} bytes as JSON, more than maxPayloadBytes (${maxBytes}). ` +
      `Store large data elsewhere and pass its key, or raise maxPayloadBytes.`,
    what,
  );
}

/**
 * The JSON texts of a list's elements: each as it is in the text of the whole, which is made for none of them. Undefined: it
 * is no list as JSON.
 * @throws SagaPayloadError as `encodePayload` does of the whole
 */
export function encodeElements(list: unknown, what: string, maxBytes: number): string[] | undefined {
  if (!isPlainList(list)) {
    const stored = decodePayload(encodePayload(list, what, maxBytes));
    return Array.isArray(stored) ? stored.map((element) => JSON.stringify(element)) : undefined;
  }
  const walk = walkOf(what, maxBytes);
  walk.around.push(list);
  const texts = readable(walk, () => {
    const elements: string[] = [];
    visitChecked(list, walk, (element) => elements.push(JSON.stringify(element)));
    return elements;
  });
  let bytes = 1 + texts.length;
  for (const text of texts) bytes += Buffer.byteLength(text);
  TURN_BUDGET.spend(bytes + texts.length * CHARACTERS_PER_ELEMENT);
  requireBytes(Math.max(2, bytes), what, maxBytes);
  return texts;
}

function isPlainList(value: unknown): value is unknown[] {
  return !types.isProxy(value) && Array.isArray(value) && isPlain(value) && !('toJSON' in value);
}

function walkOf(what: string, maxBytes: number): Walk {
  return { what, maxBytes, around: [], keys: [], room: maxBytes * ROOM_PER_BYTE };
}

/** What is read of a value; what its getters throw is refused. */
function readable<T>(walk: Walk, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (walk.refusal) throw walk.refusal;
    // A getter, the trap of a proxy, or a text that is too long for a string.
    return refuse(walk, `could not be read: ${serializeError(error).message}`);
  }
}

function jsonOf(value: unknown, what: string, maxBytes: number): string | undefined {
  const walk = walkOf(what, maxBytes);
  return readable(walk, () => JSON.stringify(checked(value, walk, true)));
}

/** Parses a JSON text. Each call returns a fresh copy, so that no caller changes the value of another. */
export function decodePayload(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  TURN_BUDGET.spend(text.length);
  return JSON.parse(text);
}

/** Are two JSON texts the same value, whatever the order of their keys? */
export function samePayload(a: string | undefined, b: string | undefined): boolean {
  return (
    a === b || (a !== undefined && b !== undefined && canonical(JSON.parse(a)) === canonical(JSON.parse(b)))
  );
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, v: unknown) =>
    v !== null && typeof v === 'object' && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  );
}

/** Recognised by what they are, not by `instanceof`: they may come from another realm. */
const LOSSY: readonly (readonly [string, (value: object) => boolean])[] = [
  ['a Map', types.isMap],
  ['a Set', types.isSet],
  ['a WeakMap', types.isWeakMap],
  ['a WeakSet', types.isWeakSet],
  ['a RegExp', types.isRegExp],
  ['a Promise', types.isPromise],
  // Only where its toJSON() is not called: it is gone, or the Date is itself what a toJSON() returned.
  ['a Date', types.isDate],
  ['an Error', (value) => types.isNativeError(value) || value instanceof Error],
];

/**
 * Walks the value once and returns a plain copy of it, so that what was checked is what is stored, even if a
 * getter answers differently the second time.
 */
function checked(value: unknown, walk: Walk, mayConvert: boolean): unknown {
  if (value === undefined) return undefined;
  take(walk, ROOM_PER_BYTE);
  switch (typeof value) {
    case 'string':
      take(walk, value.length);
      checkString(value, walk);
      return value;
    case 'number':
      if (!Number.isFinite(value)) refuse(walk, `is ${value}, which JSON cannot represent`);
      return value;
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : checkedObject(value, walk, mayConvert);
    case 'bigint':
      return refuse(walk, 'is a bigint, which JSON cannot represent; store it as a string');
    default:
      return refuse(walk, `is a ${typeof value}, which JSON cannot represent`);
  }
}

function checkedObject(value: object, walk: Walk, mayConvert: boolean): unknown {
  const { around } = walk;
  if (around.length >= DEEPEST) refuse(walk, `is nested more than ${DEEPEST} levels deep`);
  if (around.includes(value)) refuse(walk, 'refers back to a value that contains it (a cycle)');
  const { toJSON } = value as { toJSON?: unknown };
  const converts = mayConvert && typeof toJSON === 'function';
  const plain = isPlain(value);
  if (!plain) refuseLossy(value, walk, converts);
  if (converts) return checked(converted(value, toJSON as ToJSON, walk), walk, false);
  around.push(value);
  const copy =
    !plain && types.isBoxedPrimitive(value)
      ? checked(value.valueOf(), walk, false)
      : Array.isArray(value)
        ? checkedArray(value, walk)
        : checkedRecord(value, walk);
  around.pop();
  return copy;
}

/** Most values by far; the rest is looked at closely. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

function refuseLossy(value: object, walk: Walk, converts: boolean): void {
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    refuse(walk, 'is binary data; store it as a base64 string, or elsewhere');
  }
  if (converts) {
    if (types.isDate(value) && Number.isNaN(value.getTime())) refuse(walk, 'is an invalid Date');
    return;
  }
  const lossy = LOSSY.find(([, is]) => is(value));
  if (lossy) refuse(walk, `is ${lossy[0]}, whose contents JSON would lose`);
  if (isOpaque(value)) {
    refuse(
      walk,
      `is ${nameOf(value)}, of which JSON would store {}; store its data, or give its class a toJSON()`,
    );
  }
}

/** The name of a private field or method in the text of a class. */
const PRIVATE_NAME = /#[\p{ID_Start}$_]/u;

/**
 * Whether an object has no property of its own, and what it holds is behind getters or in private fields, or it is an object of the platform:
 * a Response, Headers, an iterator.
 */
function isOpaque(value: object): boolean {
  if (types.isBoxedPrimitive(value) || Object.keys(value).length > 0) return false;
  if (tagOf(value) !== 'Object') return true;
  let prototype = Object.getPrototypeOf(value) as object | null;
  while (prototype !== null) {
    const next = Object.getPrototypeOf(prototype) as object | null;
    // What every object has, in any realm.
    if (next === null) return false;
    const members = Object.values(Object.getOwnPropertyDescriptors(prototype));
    if (members.some((member) => 'get' in member)) return true;
    const type: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    if (typeof type === 'function' && PRIVATE_NAME.test(Function.prototype.toString.call(type))) return true;
    prototype = next;
  }
  return false;
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

/** As `Object.prototype.toString` names it, or its class: `a Response`. */
function nameOf(value: object): string {
  const tag = tagOf(value);
  const { name } = (value.constructor ?? {}) as { name?: unknown };
  const known = tag !== 'Object' ? tag : typeof name === 'string' && name !== '' ? name : 'object of a class';
  return `${/^[aeiou]/i.test(known) ? 'an' : 'a'} ${known}`;
}

function checkedArray(value: unknown[], walk: Walk): unknown[] {
  const copy: unknown[] = [];
  visitChecked(value, walk, (item) => copy.push(item));
  return copy;
}

function visitChecked(list: unknown[], walk: Walk, visit: (item: unknown) => void): void {
  const { length } = list;
  for (let index = 0; index < length; index += 1) {
    walk.keys.push(index);
    const item = checked(list[index], walk, true);
    if (item === undefined) refuse(walk, 'is undefined, which JSON cannot represent in an array; use null');
    visit(item);
    walk.keys.pop();
  }
}

function checkedRecord(value: object, walk: Walk): object {
  // A null prototype, so that a key named __proto__ is a key like any other.
  const copy = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(value)) {
    walk.keys.push(key);
    take(walk, key.length);
    checkString(key, walk);
    const item = checked((value as Record<string, unknown>)[key], walk, true);
    if (item === undefined) walk.room += key.length;
    else copy[key] = item;
    walk.keys.pop();
  }
  return copy;
}

type ToJSON = (key: string) => unknown;

function converted(value: object, toJSON: ToJSON, walk: Walk): unknown {
  try {
    return toJSON.call(value, '');
  } catch (error) {
    return refuse(walk, `could not be converted by its toJSON(): ${serializeError(error).message}`);
  }
}

function take(walk: Walk, room: number): void {
  walk.room -= room;
  if (walk.room >= 0) return;
  walk.keys.length = 0;
  refuse(
    walk,
    `is larger than maxPayloadBytes (${walk.maxBytes}) as JSON; store large data elsewhere and pass its key, or raise ` +
      `maxPayloadBytes`,
  );
}

function checkString(value: string, walk: Walk): void {
  if (value.includes('\0')) refuse(walk, 'contains a NUL character, which PostgreSQL cannot store');
  if (!value.isWellFormed()) refuse(walk, 'contains half of a surrogate pair, which PostgreSQL cannot store');
}

function refuse(walk: Walk, problem: string): never {
  const path = walk.what + walk.keys.map(stepOfPath).join('');
  walk.refusal = new SagaPayloadError(`${path} ${problem}.`, path);
  throw walk.refusal;
}
