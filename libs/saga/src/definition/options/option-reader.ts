import { readDuration } from './duration.js';
import { readObject } from '../../shared/read-object.js';
import type { Report } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';

/** The largest number of PostgreSQL's integer, in which counts are kept. */
export const LARGEST_COUNT = 2 ** 31 - 1;
/** Longest name of a saga or step; both are in index keys and idempotency keys. */
export const LONGEST_NAME = 200;
/** What separates a step's name from the rest of an idempotency key. */
export const SEPARATORS = /[\s:~[\]]/;
/** Control characters and lone surrogates, which PostgreSQL or people cannot read. */
export const UNREADABLE = /[\p{Cc}\p{Cs}]/u;

/** A kind of value as plain data, for other formats that have the same option, such as files of declared sagas. */
export type ValueShape =
  | { readonly type: 'whole'; readonly least: number }
  | { readonly type: 'number' }
  | { readonly type: 'flag' }
  | { readonly type: 'duration' }
  | { readonly type: 'choice'; readonly of: readonly string[] };

/** A kind of value. Callers without a compiler may give any value in the place of `Given`. */
export interface Kind<Given, Read = Given> {
  /**
   * Returns the value as the package uses it. Undefined: the value is invalid, and that was reported.
   * @param option the name of the option, with the names of those that contain it: `retry.delay`
   */
  readonly read: (value: Given, option: string, reader: OptionReader) => Read | undefined;
  /** Undefined: only code can give such a value. */
  readonly shape?: ValueShape;
}

/** An option of a table: its kind of value, and what holds if it is not given. */
export interface Option<Given, Read = Given> {
  readonly read: (value: Given | undefined, option: string, reader: OptionReader) => Read;
  readonly shape?: ValueShape;
  readonly required?: true;
}

/** All options of an interface. A table that lacks an option, or has another kind of value for it, does not compile. */
export type OptionTable<T> = { readonly [K in keyof T]-?: Option<Exclude<T[K], undefined>, unknown> };

// oxlint-disable-next-line typescript/no-explicit-any -- each option has a kind of value of its own
export type AnyTable = Readonly<Record<string, Option<any, unknown>>>;

/** The options of a table as the package uses them. Those that may be undefined may be left out. */
export type OptionsRead<Table extends AnyTable> = {
  readonly [K in keyof Table as undefined extends ReadAs<Table[K]> ? never : K]: ReadAs<Table[K]>;
} & {
  readonly [K in keyof Table as undefined extends ReadAs<Table[K]> ? K : never]?: ReadAs<Table[K]>;
};
type ReadAs<O extends AnyTable[string]> = ReturnType<O['read']>;

/** An option that may be left out. */
export function optional<Given, Read>(kind: Kind<Given, Read>): Option<Given, Read | undefined> {
  return {
    read: (value, option, reader) => (value === undefined ? undefined : kind.read(value, option, reader)),
    shape: kind.shape,
  };
}

/** An option that has this value if it is left out. */
export function withDefault<Given, Read>(
  kind: Kind<Given, Read>,
  byDefault: NoInfer<Given>,
): Option<Given, Read> {
  return {
    read: (value = byDefault, option, reader) => kind.read(value, option, reader) as Read,
    shape: kind.shape,
  };
}

/** An option that must be given. */
export function required<Given, Read>(kind: Kind<Given, Read>): Option<Given, Read> {
  return {
    read: (value, option, reader) => kind.read(value as Given, option, reader) as Read,
    shape: kind.shape,
    required: true,
  };
}

/**
 * Reads options by their table, for callers without a compiler, too. Each option is read once, so that what is checked is
 * what is used. All that is wrong is reported. The reader returns something in the place of an invalid option, which
 * must not be used after a report.
 */
export class OptionReader {
  constructor(
    readonly report: Report,
    /** Begins messages about values: `@Saga `. */
    private readonly prefix = '',
    /** Begins messages about unknown options: `@Saga has the `. */
    private readonly beforeUnknown = '',
  ) {}

  /**
   * Returns the options of a call.
   * @param what the options are called: `filter`
   */
  read<Table extends AnyTable>(table: Table, given: unknown, what = 'options'): OptionsRead<Table> {
    const read = this.fields(table, given, '');
    if (!read)
      this.report(
        `${this.prefix}${what} ${what === 'options' ? 'are' : 'is'} ${shown(given)}`,
        'give an object',
      );
    return read ?? ({} as OptionsRead<Table>);
  }

  /** The options that an option contains. Undefined: the value is no object, and that was reported. */
  below<Table extends AnyTable>(
    table: Table,
    given: unknown,
    option: string,
    example: string,
  ): OptionsRead<Table> | undefined {
    return this.fields(table, given, `${option}.`) ?? this.refuse(given, option, `give ${example}`);
  }

  refuse(value: unknown, option: string, fix: string): undefined {
    this.report(`${this.prefix}${option} is ${shown(value)}`, fix);
  }

  duration(
    value: unknown,
    option: string,
    { least = 0, longest, zero }: { least?: number; longest?: number; zero?: string } = {},
  ): number | undefined {
    const read = readDuration(value, this.prefix + option, longest);
    if (typeof read !== 'number') return void this.report(read.problem, read.fix);
    if (read < least) return this.refuse(value, option, `give at least ${least} ms`);
    if (read > 0 || zero === undefined) return read;
    return void this.report(`${this.prefix}${option} 0 ${zero}`, 'remove the option to set none');
  }

  private fields<Table extends AnyTable>(
    table: Table,
    given: unknown,
    below: string,
  ): OptionsRead<Table> | undefined {
    const names = Object.keys(table);
    const object = readObject<Record<string, unknown>>(given, names, below);
    if (!object) return undefined;
    for (const { problem, fix } of object.flaws) this.report(this.beforeUnknown + problem, fix);
    const read: Record<string, unknown> = {};
    for (const name of names) read[name] = table[name]!.read(object.options[name], below + name, this);
    return read as OptionsRead<Table>;
  }
}
