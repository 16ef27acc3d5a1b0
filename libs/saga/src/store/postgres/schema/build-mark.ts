import { createHash } from 'node:crypto';
import { wakeupChannel } from '../connection/schema-name.js';

/** How the comment of a table begins that a migration marks. */
const MARK = 'nestjs-durable-saga';

/**
 * The mark that a migration leaves in a schema: its name, and a digest of its SQL. Builds before a release may have other
 * contents by the same name. The digest is one for all schemas.
 */
export function buildMark(migration: string, statements: readonly string[], schema: string): string {
  const text = statements
    .join(';\n')
    .replaceAll(`"${schema}"`, '"schema"')
    .replaceAll(wakeupChannel(schema), 'channel');
  return `${MARK} ${migration} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

/** The array of the marks of the schema whose name is this parameter. Everybody may read them, in the catalog. */
export const marksIn = (parameter: string): string => `ARRAY(
  SELECT d.description FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
  JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0
  WHERE n.nspname = ${parameter} AND d.description LIKE '${MARK} %')`;
