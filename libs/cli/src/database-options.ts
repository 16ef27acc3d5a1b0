import { DEFAULT_SCHEMA, isSchemaName } from 'nestjs-durable-saga/internal';
import { type DATABASE_OPTIONS, UsageError, type ValuesOf } from './command.js';
import { DEVELOPMENT_URL, sourceFoldersOf, sourcesOf } from './init/nest-app.js';
import type { Terminal } from './terminal.js';

/**
 * The database of a command: `--url`, the variable DATABASE_URL, or the default of the application in this folder. Only an
 * application whose sources have the address that `saga init` writes has a default, and stderr names it.
 * @throws UsageError if there is none
 */
export function databaseUrl(url: string | undefined, terminal: Terminal): string {
  const given = url || terminal.environment.DATABASE_URL;
  if (given) return given;
  const sources = sourceFoldersOf(process.cwd()).flatMap(sourcesOf);
  if (!sources.some((source) => source.includes(DEVELOPMENT_URL)))
    throw new UsageError('Give the database as --url postgres://…, or in the variable DATABASE_URL');
  const { host, pathname, username } = new URL(DEVELOPMENT_URL);
  terminal.error(
    `saga: DATABASE_URL is not set. Using the default of this application: database '${pathname.slice(1)}' on ${host}, ` +
      `as ${username}`,
  );
  return DEVELOPMENT_URL;
}

/**
 * Returns the schema of a command.
 * @throws UsageError if it is not a valid name
 */
export function schemaOf({ schema = DEFAULT_SCHEMA }: ValuesOf<typeof DATABASE_OPTIONS>): string {
  if (!isSchemaName(schema))
    throw new UsageError(
      `--schema '${schema}' is not a valid schema name. Give a lower-case name of letters, digits and _`,
    );
  return schema;
}
