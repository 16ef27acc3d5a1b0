import type { DataSource, Logger } from 'typeorm';

interface Statement {
  readonly text: string;
  readonly values?: unknown[];
}

interface Client {
  query(given: string | Statement, values?: unknown[]): unknown;
}

/** The statements of all connections of a DataSource with their parameters, which no log contains. */
export function statementsSentBy(dataSource: DataSource): { text: string; values: unknown[] }[] {
  const sent: { text: string; values: unknown[] }[] = [];
  const known = new WeakSet<Client>();
  const pool = dataSource.driver as unknown as {
    master: { on(event: 'acquire', listen: (client: Client) => void): void };
  };
  pool.master.on('acquire', (client) => {
    if (known.has(client)) return;
    known.add(client);
    const query = client.query.bind(client);
    client.query = (given, values) => {
      const statement = typeof given === 'string' ? { text: given, values } : given;
      sent.push({ text: statement.text, values: statement.values ?? [] });
      return query(given, values);
    };
  });
  return sent;
}

/** As a DataSource's `logger`, with `logging: ['query']`: what is sent to the database. */
export class StatementLog implements Logger {
  statements: { text: string; values: unknown[] }[] = [];

  logQuery(text: string, values: unknown[] = []): void {
    this.statements.push({ text, values });
  }

  logQueryError(): void {}
  logQuerySlow(): void {}
  logSchemaBuild(): void {}
  logMigration(): void {}
  log(): void {}
}
