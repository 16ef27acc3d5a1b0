/** A column of an answer of postgres.js. */
interface Column {
  readonly name: string;
  readonly type: number;
}

/** How postgres.js reads a type. That of an array takes the text without its first character. */
type Parse = ((text: string) => unknown) & { readonly array?: boolean };

/** What postgres.js answers to `raw()`: the texts of the values, as the server sent them. */
export interface RawRows extends ReadonlyArray<readonly (Uint8Array | null)[]> {
  readonly columns?: readonly Column[];
}

/** A statement of postgres.js. */
interface PostgresJsQuery extends PromiseLike<unknown> {
  raw(): PromiseLike<RawRows>;
}

/** The options of postgres.js, after it has read them. */
export interface PostgresJsOptions {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
  readonly database: string;
  readonly user: string;
  readonly pass: string | null | (() => string | Promise<string>);
  readonly ssl: unknown;
  readonly max: number;
  /** In seconds. */
  readonly connect_timeout: number | null;
  /** Settings of the session. */
  readonly connection: Readonly<Record<string, unknown>>;
  readonly socket?: unknown;
  readonly fetch_types?: boolean;
  readonly parsers: Readonly<Record<number, Parse | undefined>>;
  readonly transform: Readonly<Record<'column' | 'value' | 'row', { readonly from?: unknown }>>;
}

/** The part of a client of postgres.js, or of a transaction of one, that is used. */
export interface PostgresJsClient {
  readonly options: PostgresJsOptions;
  unsafe(text: string, values?: readonly unknown[]): PostgresJsQuery;
  typed(value: unknown, type: number): unknown;
  end(options?: object): Promise<void>;
}

/** By what it has: there may be several copies of postgres.js. */
export function isPostgresJs(given: unknown): given is PostgresJsClient {
  return isFunctionWith(given, 'unsafe', 'begin', 'reserve', 'options');
}

/** A transaction of postgres.js. A savepoint of one is a transaction as well. */
export function isPostgresJsTransaction(given: unknown): given is PostgresJsClient {
  return isFunctionWith(given, 'unsafe', 'savepoint', 'typed');
}

function isFunctionWith(given: unknown, ...names: string[]): boolean {
  return typeof given === 'function' && names.every((name) => name in given);
}
