import { sourceFoldersOf } from './init/nest-app.js';
import { DEVELOPMENT_URL } from './init/own-postgres.js';
import { sourcesOf } from './init/sources.js';
import type { Terminal } from './terminal.js';
import { UsageError } from './usage-error.js';

/**
 * The database of a command: `--url`, the variable DATABASE_URL, or the default of the application in this folder. Only an
 * application whose sources have the address that `saga init` writes has a default, and stderr names it.
 * @throws UsageError if there is none
 */
export function databaseUrl(url: string | undefined, terminal: Terminal): string {
  const given = url || terminal.environment.DATABASE_URL;
  if (given) return given;
  if (!namesDevelopmentUrl(process.cwd()))
    throw new UsageError('Give the database as --url postgres://…, or in the variable DATABASE_URL');
  const { host, pathname, username } = new URL(DEVELOPMENT_URL);
  terminal.error(
    `saga: DATABASE_URL is not set. Using the default of this application: database '${pathname.slice(1)}' on ${host}, ` +
      `as ${username}`,
  );
  return DEVELOPMENT_URL;
}

function namesDevelopmentUrl(root: string): boolean {
  return sourceFoldersOf(root)
    .flatMap(sourcesOf)
    .some((source) => source.includes(DEVELOPMENT_URL));
}
