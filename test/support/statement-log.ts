import type { Logger } from 'typeorm';

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
