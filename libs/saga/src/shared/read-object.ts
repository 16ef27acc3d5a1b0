import { nearestName } from './nearest-name.js';
import type { Diagnostic } from './diagnostic.js';

// Without Node's modules: what draws sagas runs in browsers too.

/** An object of options as it was given: what it says of the names that it may have, and what is wrong with it. */
export interface ReadObject<T extends object> {
  /** Each option was read once, and what is `undefined` is left out, as if it were not given. Has no prototype. */
  readonly options: Partial<T>;
  readonly flaws: readonly Diagnostic[];
}

/** An option whose getter, or whose proxy, has thrown. */
export class UnreadableOption extends Error {
  constructor(
    readonly option: string | undefined,
    cause: unknown,
  ) {
    super(`${option ?? 'the options'} could not be read: ${messageOf(cause)}`, { cause });
  }
}

/** The message of anything that was thrown, whatever its getters do. */
export function messageOf(thrown: unknown): string {
  try {
    return String((thrown as Partial<Error>).message);
  } catch {
    return `a value of type ${typeof thrown} was thrown`;
  }
}

const NONE: readonly Diagnostic[] = [];
/** Unknown options that are named; more are only counted, since a message has to be readable. */
const MOST_NAMED = 3;
/** Characters of an unknown option that are shown. */
const LONGEST = 60;
/** What holds values, and none of them as a property of its own: taken for options, it would be an object without any. */
const HOLDERS =
  /^\[object (Array|Map|Set|WeakMap|WeakSet|Promise|Date|RegExp|Error|String|Number|Boolean)\]$/;

/**
 * Reads every object of options, filter, message or target that the package receives. An unknown option is a problem,
 * reported by name with the nearest known one: a typing error must not act like an option that was not given. Inherited
 * options count, except those on `Object.prototype`.
 * @param what goes before the name of an unknown option, if its owner has to be named: `worker.`
 * @returns undefined: it is no object of options
 * @throws UnreadableOption when a getter, or a proxy, throws
 */
export function readObject<T extends object>(
  given: unknown,
  known: readonly (keyof T & string)[],
  what = '',
): ReadObject<T> | undefined {
  if (!isOptions(given)) return undefined;
  const options = Object.create(null) as Partial<T>;
  for (const name of known) {
    const value = reading(name, () => (isGiven(given, name) ? (given as Partial<T>)[name] : undefined));
    if (value !== undefined) options[name] = value;
  }
  const unknown = reading(undefined, () => unknownKeys(given, known));
  if (unknown.length === 0) return { options, flaws: NONE };
  const flaws = unknown.slice(0, MOST_NAMED).map((key) => unknownFlaw(key, known, what));
  const more = unknown.length - flaws.length;
  if (more > 0) flaws.push({ problem: `${more} more options are unknown`, fix: 'remove them' });
  return { options, flaws };
}

/** Why this is no option, with the one that may be meant. */
export function unknownFlaw(key: PropertyKey, known: readonly string[], what = ''): Diagnostic {
  const written = String(key);
  const shown = written.length > LONGEST ? `${written.slice(0, LONGEST)}…` : written;
  const nearest = nearestName(written, known);
  return {
    problem: `unknown option '${what}${readable(shown)}'`,
    fix: nearest === undefined ? `The options are: ${known.join(', ')}` : `Did you mean '${what}${nearest}'?`,
  };
}

/** Whether a value may be an object of options. @throws UnreadableOption when a proxy throws */
export function isOptions(given: unknown): given is object {
  if (typeof given !== 'object' || given === null) return false;
  return reading(undefined, () => !HOLDERS.test(Object.prototype.toString.call(given)));
}

/** Whether an object has a property, its own or inherited, but not what every object has. */
function isGiven(given: object, name: string): boolean {
  return (
    Object.hasOwn(given, name) ||
    (name in given && inheritedFrom(given).some((one) => Object.hasOwn(one, name)))
  );
}

function unknownKeys(given: object, known: readonly string[]): PropertyKey[] {
  const unknown: PropertyKey[] = [];
  for (const one of [given, ...inheritedFrom(given)]) {
    for (const key of [...Object.keys(one), ...Object.getOwnPropertySymbols(one)]) {
      if (known.includes(key as string) || unknown.includes(key) || !isEnumerable(one, key)) continue;
      unknown.push(key);
    }
  }
  return unknown;
}

function isEnumerable(given: object, key: PropertyKey): boolean {
  return Object.prototype.propertyIsEnumerable.call(given, key);
}

/** What an object inherits from, but for that which all objects do, in this realm or another. */
function inheritedFrom(given: object): object[] {
  const chain: object[] = [];
  let one = Object.getPrototypeOf(given) as object | null;
  for (; one && one !== Object.prototype; one = Object.getPrototypeOf(one) as object | null) {
    const isRoot = Object.getPrototypeOf(one) === null && Object.hasOwn(one, 'isPrototypeOf');
    if (!isRoot) chain.push(one);
  }
  return chain;
}

function reading<T>(option: string | undefined, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UnreadableOption(option, error);
  }
}

/** What no terminal or database would show. */
function readable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\p{Cf}]/gu, '\u{fffd}');
}
