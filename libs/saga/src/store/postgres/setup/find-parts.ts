import { SagaConfigurationError } from '../../../errors.js';
import type { Sql } from '../connection/sql.js';
import { marksIn } from '../schema/build-mark.js';
import type { Needs, SagaMigration } from './needs.js';

/** What a schema has of what a module needs. */
export interface FoundParts {
  /** Names of the tables, sequences and functions that it lacks. */
  readonly missing: readonly string[];
  /** The marks of the builds that made it. */
  readonly marks: readonly string[];
  /** Names of the migrations that its table `migration` lists, if that was asked. */
  readonly applied: readonly string[];
}

/** @param applied the expression that reads the names of the applied migrations */
export async function findParts(
  sql: Sql,
  schema: string,
  needs: Needs,
  applied = `'{}'::text[]`,
): Promise<FoundParts> {
  const [found] = await sql.query<[FoundParts]>(
    `SELECT ARRAY(
       SELECT name FROM unnest($2::text[]) AS name WHERE to_regclass($1 || name) IS NULL UNION ALL
       SELECT name || '()' FROM unnest($3::text[]) AS name WHERE to_regproc($1 || name) IS NULL) AS missing,
       ${marksIn('$4')} AS marks, ${applied} AS applied`,
    [`"${schema}".`, [...needs.tables, ...needs.sequences], needs.functions, schema],
  );
  return found;
}

/**
 * A newer schema passes: it has the migrations of this build, and others.
 * @throws SagaConfigurationError if a migration of the schema is that of another build
 */
export function requireSameBuild(
  schema: string,
  needs: Needs,
  { marks }: FoundParts,
  isApplied: (migration: SagaMigration) => boolean,
): void {
  const other = needs.migrationsOf(schema).find((migration) => {
    if (marks.includes(migration.mark)) return false;
    return isApplied(migration) || marks.some((mark) => mark.split(' ')[1] === migration.name);
  });
  if (!other) return;
  throw new SagaConfigurationError(
    `Schema '${schema}' was made by another build of nestjs-durable-saga: its migration ${other.name} is not that of ` +
      `this build. Install the build that made it, or, if its sagas are not needed, DROP SCHEMA "${schema}" CASCADE.`,
  );
}

/** @throws SagaConfigurationError if something is missing, although the migrations are applied */
export function requireParts(schema: string, { missing }: FoundParts): void {
  if (missing.length === 0) return;
  throw new SagaConfigurationError(
    `Schema '${schema}' lacks ${missing.join(', ')}, although all migrations are recorded as applied. A newer version of ` +
      `nestjs-durable-saga has removed it: install that version. Or it was dropped manually: restore it.`,
  );
}
