import { OWN_TYPES } from '../../store/postgres/connection/own-types.js';
import type { JoinedTransaction } from '../../store/postgres/connection/saga-database.js';
import type { PostgresJsClient, RawRows } from './postgres-js-client.js';

/** PostgreSQL's type of a literal. It infers the type of a parameter of this type, and postgres.js sends it as it is. */
const UNKNOWN = 705;

/**
 * The engine's statements in a transaction that the application has opened with postgres.js. Neither its parsers nor its
 * serializers are used, because they are the application's.
 */
export class PostgresJsTransaction implements JoinedTransaction {
  constructor(private readonly sql: PostgresJsClient) {}

  async query<Rows = unknown>(text: string, parameters: readonly unknown[] = []): Promise<Rows> {
    const values = parameters.map((value) => (value == null ? null : this.sql.typed(textOf(value), UNKNOWN)));
    try {
      return rowsOf(await this.sql.unsafe(text, values).raw()) as Rows;
    } catch (error) {
      throw withoutStatement(error);
    }
  }

  /** It does not show its connection, but is the same object for all of its statements. */
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
