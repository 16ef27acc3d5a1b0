import type { Logger, QueryRunner } from 'typeorm';

/** In which an error of PostgreSQL may carry what was to be stored: whole rows, or the beginning of a payload. */
const TELLING = ['parameters', 'detail', 'where'] as const;

/**
 * Returns the error of an engine statement without the values that the statement was given. A saga's input and results
 * may be secret (`@Saga({ redact })`), and errors end in logs.
 */
export function withoutValues<E>(error: E): E {
  if (typeof error !== 'object' || error === null) return error;
  const failure = error as Record<(typeof TELLING)[number] | 'driverError', unknown>;
  for (const name of TELLING) if (failure[name] !== undefined) failure[name] = undefined;
  if (failure.driverError !== undefined && failure.driverError !== error) withoutValues(failure.driverError);
  return error;
}

/** The application's logger, as it is notified of the engine's statements: their text, and nothing that they are given. */
export class LoggerWithoutValues implements Logger {
  constructor(private readonly logger: Logger) {}

  logQuery(query: string, _parameters?: unknown, runner?: QueryRunner): void {
    this.logger.logQuery(query, undefined, runner);
  }
  logQueryError(error: string | Error, query: string, _parameters?: unknown, runner?: QueryRunner): void {
    this.logger.logQueryError(withoutValues(error), query, undefined, runner);
  }
  logQuerySlow(time: number, query: string, _parameters?: unknown, runner?: QueryRunner): void {
    this.logger.logQuerySlow(time, query, undefined, runner);
  }
  logSchemaBuild(message: string, runner?: QueryRunner): void {
    this.logger.logSchemaBuild(message, runner);
  }
  logMigration(message: string, runner?: QueryRunner): void {
    this.logger.logMigration(message, runner);
  }
  log(level: 'log' | 'info' | 'warn', message: unknown, runner?: QueryRunner): void {
    this.logger.log(level, message, runner);
  }
}
