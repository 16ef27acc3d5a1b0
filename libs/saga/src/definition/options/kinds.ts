import type { Duration } from './duration.js';
import { type AnyTable, type Kind, LARGEST_COUNT, type OptionsRead } from './option-reader.js';

// The kinds of values that options have. Tables use them as `kind.count()`.

/** Any value. The code that uses it checks it. */
export function anything<T>(): Kind<T> {
  return { read: (value) => value };
}

export const flag: Kind<boolean> = {
  read: (value, option, reader) =>
    typeof value === 'boolean' ? value : reader.refuse(value, option, 'give true or false'),
  shape: { type: 'flag' },
};

export function oneOf<const T extends string>(...allowed: readonly T[]): Kind<T> {
  const fix = `give ${allowed.map((one) => `'${one}'`).join(' or ')}`;
  return {
    read: (value, option, reader) => (allowed.includes(value) ? value : reader.refuse(value, option, fix)),
    shape: { type: 'choice', of: allowed },
  };
}

export function func<T extends (...args: never[]) => unknown>(): Kind<T> {
  return checked((value) => typeof value === 'function', 'give a function');
}

export const text: Kind<string> = checked((value) => typeof value === 'string', 'give a string');

/** Paths of files of declared sagas, or one. */
export const declaredFiles: Kind<string | readonly string[], readonly string[]> = {
  read: (value, option, reader) => {
    const all = [value].flat() as unknown[];
    if (all.length > 0 && all.every((path) => typeof path === 'string' && path !== ''))
      return all as string[];
    return reader.refuse(value, option, "give paths of YAML or JSON files, such as 'sagas/*.yaml'");
  },
};

/** A value that fits a predicate. */
export function checked<T>(fits: (value: T) => boolean, fix: string): Kind<T> {
  return { read: (value, option, reader) => (fits(value) ? value : reader.refuse(value, option, fix)) };
}

/** A whole number. */
export function count(least = 1, most = LARGEST_COUNT): Kind<number> {
  const bound = most < LARGEST_COUNT ? ` to ${most}` : '';
  return {
    ...checked(
      (value) => Number.isInteger(value) && value >= least && value <= most,
      `give a whole number from ${least}${bound}`,
    ),
    shape: { type: 'whole', least },
  };
}

/** A finite number. */
export function number(least: number, most = Infinity): Kind<number> {
  const bound = most < Infinity ? ` to ${most}` : '';
  return {
    ...checked(
      (value) => Number.isFinite(value) && value >= least && value <= most,
      `give a number from ${least}${bound}`,
    ),
    shape: { type: 'number' },
  };
}

/**
 * A duration, which is read as milliseconds.
 * @param bounds `zero`: why 0 makes no sense, as in `would fail every attempt`
 */
export function duration(
  bounds: {
    readonly least?: number;
    readonly longest?: number;
    readonly zero?: string;
  } = {},
): Kind<Duration, number> {
  return {
    read: (value, option, reader) => reader.duration(value, option, bounds),
    shape: { type: 'duration' },
  };
}

/** A value of this kind, or a function that returns it later. */
export function orFunction<Given, Read, F extends (...args: never[]) => unknown>(
  kind: Kind<Given, Read>,
): Kind<Given | F, Read | F> {
  return {
    ...kind,
    read: (value, option, reader) =>
      typeof value === 'function' ? (value as F) : kind.read(value, option, reader),
  };
}

/** A value of this kind, or `false`. */
export function orFalse<Given, Read>(kind: Kind<Given, Read>): Kind<Given | false, Read | false> {
  return {
    read: (value, option, reader) => (value === false ? false : kind.read(value, option, reader)),
  };
}

/** A value of the first kind, or an object of the second one. */
export function orObject<Given, Read, GivenObject extends object, ReadObject>(
  kind: Kind<Given, Read>,
  object: Kind<GivenObject, ReadObject>,
): Kind<Given | GivenObject, Read | ReadObject> {
  return {
    read: (value, option, reader) =>
      typeof value === 'object' && value !== null
        ? object.read(value as GivenObject, option, reader)
        : kind.read(value, option, reader),
  };
}

/** An object with options of its own. */
export function object<Table extends AnyTable>(
  table: Table,
  example: string,
): Kind<OptionsGiven<Table>, OptionsRead<Table>> {
  return { read: (value, option, reader) => reader.below(table, value, option, example) };
}

/** What callers give for a table. */
type OptionsGiven<Table extends AnyTable> = {
  readonly [K in keyof Table]?: Parameters<Table[K]['read']>[0];
};
