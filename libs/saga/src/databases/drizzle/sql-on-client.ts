import type { PgClient } from '../../store/postgres/connection/pg-types.js';
import type { PostgresJsOptions } from './postgres-js-client.js';

/** What pg answers. */
interface Answer {
  readonly rows: unknown[];
  readonly rowCount: number | null;
  readonly command: string;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/** The rows of a statement, as postgres.js returns them. */
type Rows = unknown[] & { count?: number | null; command?: string; columns?: unknown };

/** Counts the savepoints of a transaction. */
interface Savepoints {
  count: number;
}

/**
 * The transaction of a step in the form that Drizzle knows from postgres.js, on a connection of pg. Values are read by the
 * parsers of the application's postgres.js.
 */
export class SqlOnClient {
  /** The first error of a statement. postgres.js fails a savepoint with it, even if it was caught. */
  private failure: { readonly error: unknown } | undefined;

  constructor(
    readonly client: PgClient,
    private readonly settings: PostgresJsOptions,
    private readonly savepoints: Savepoints = { count: 0 },
  ) {}

  /** Sends a statement once its answer is awaited. */
  unsafe(text: string, values: unknown[] = []): PromiseLike<Rows> & { values(): Promise<Rows> } {
    return {
      then: (...handlers) => this.send(text, values).then(...handlers),
      values: () => this.send(text, values, 'array'),
    };
  }

  /** Runs work in a savepoint. */
  async savepoint<T>(work: (sql: SqlOnClient) => Promise<T>): Promise<T> {
    const name = `s${this.savepoints.count++}`;
    const inner = new SqlOnClient(this.client, this.settings, this.savepoints);
    await this.client.query(`SAVEPOINT ${name}`);
    try {
      const result = await work(inner);
      if (inner.failure) throw inner.failure.error;
      return result;
    } catch (error) {
      await this.client.query(`ROLLBACK TO SAVEPOINT ${name}`);
      throw error;
    }
  }

  private async send(text: string, values: unknown[], rowMode?: 'array'): Promise<Rows> {
    const types = { getTypeParser: (type: number) => this.parserOf(type) };
    try {
      const answer = (await this.client.query({ text, values, types, rowMode } as never)) as unknown as
        | Answer
        | Answer[];
      const { rows, rowCount: count, command, fields } = Array.isArray(answer) ? answer.at(-1)! : answer;
      const columns = fields.map(({ name, dataTypeID: type }) => ({ name, type }));
      return Object.assign(rows, { count, command, columns });
    } catch (error) {
      this.failure ??= { error };
      throw error;
    }
  }

  private parserOf(type: number): (text: string) => unknown {
    const parse = this.settings.parsers[type];
    if (!parse) return (text) => text;
    return parse.array ? (text) => parse(text.slice(1)) : parse;
  }
}
