import { SagaTransactionError } from '../../errors.js';
import { transactionEnded } from '../../store/postgres/connection/client-transaction.js';
import type { HomeDatabase } from '../../store/postgres/connection/home-database.js';
import { OWN_TYPES } from '../../store/postgres/connection/own-types.js';
import type { JoinedTransaction } from '../../store/postgres/connection/saga-database.js';
import type { PostgresJsClient, RawRows } from './postgres-js-client.js';

/** PostgreSQL's type of a literal. It infers the type of a parameter of this type, and postgres.js sends it as it is. */
const UNKNOWN = 705;

const TRANSACTION = 'SELECT pg_current_xact_id()::text AS xid';

/** The number of each transaction in which something was stored. */
const transactions = new WeakMap<object, string>();

/**
 * The engine's statements in a transaction that the application has opened with postgres.js. Neither its parsers nor its
 * serializers are used, because they are the application's.
 */
export class PostgresJsTransaction implements JoinedTransaction {
  private isOpen: Promise<void> | undefined;

  /** @param fix how the application opens a transaction, for an error message */
  constructor(
    private readonly sql: PostgresJsClient,
    private readonly home: HomeDatabase,
    private readonly fix: string,
  ) {}

  async query<Rows = unknown>(text: string, parameters: readonly unknown[] = []): Promise<Rows> {
    const values = parameters.map((value) => (value == null ? null : this.sql.typed(textOf(value), UNKNOWN)));
    this.isOpen ??= this.requireOpen();
    await this.isOpen;
    return this.send<Rows>(text, values);
  }

  /**
   * postgres.js sends statements of a transaction that has ended on the same connection, whatever that is in by now. It shows
   * neither, so that the server is asked: two statements of one transaction have the same number.
   */
  private async requireOpen(): Promise<void> {
    const number = async () => (await this.send<{ xid: string }[]>(TRANSACTION, []))[0]!.xid;
    const home = this.home.requireHere((question) => this.send(question, []));
    const [first, second] = await Promise.all([number(), number(), home]);
    if (first !== second)
      throw new SagaTransactionError(`The connection that was given is in no transaction. ${this.fix}`);
    if ((transactions.get(this.sql) ?? first) !== first) throw transactionEnded(this.fix);
    transactions.set(this.sql, first);
  }

  private async send<Rows>(text: string, values: unknown[]): Promise<Rows> {
    try {
      return rowsOf(await this.sql.unsafe(text, values).raw()) as Rows;
    } catch (error) {
      throw withoutStatement(error);
    }
  }

  /** The transaction does not show its connection, but is the same object for all of its statements. */
  async connection(): Promise<object> {
    return this.sql;
  }
}

function rowsOf(raw: RawRows): object[] {
  const columns = raw.columns ?? [];
  const read = columns.map(({ type }) => OWN_TYPES.getTypeParser(type));
  return raw.map((row) =>
    Object.fromEntries(
      columns.map(({ name }, n) => [name, row[n] == null ? null : read[n]!(Buffer.from(row[n]).toString())]),
    ),
  );
}

/** A value as PostgreSQL reads it. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`;
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function elementOf(value: unknown): string {
  if (value == null) return 'NULL';
  return Array.isArray(value) ? textOf(value) : `"${textOf(value).replace(/["\\]/g, '\\$&')}"`;
}

/** The error of postgres.js has the statement and its values, and cannot be changed. */
function withoutStatement(error: unknown): Error {
  const { message, code, severity, constraint_name: constraint } = error as Error & Record<string, unknown>;
  return Object.assign(new Error(message), { code, severity, constraint });
}
