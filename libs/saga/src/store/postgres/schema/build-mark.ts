import { createHash } from 'node:crypto';

/** How the comment of a table begins that a migration marks. */
const MARK = 'nestjs-durable-saga';

/** The mark that a migration leaves in a schema: builds before a release may have other contents by the same name. */
export interface BuildMark {
  /** The comment: the migration's name, and a digest of its SQL. */
  readonly text: string;
  /** The statement that leaves the mark. */
  sql(schema: string): string;
}

/**
 * @param statements for the default schema, so that the digest is one for all schemas
 * @param table a table that no other migration marks, and that is not partitioned
 */
export function buildMark(migration: string, statements: readonly string[], table: string): BuildMark {
  const digest = createHash('sha256').update(statements.join(';\n')).digest('hex').slice(0, 16);
  const text = `${MARK} ${migration} ${digest}`;
  return { text, sql: (schema) => `COMMENT ON TABLE "${schema}".${table} IS '${text}'` };
}

/** The array of the marks of the schema whose name is this parameter. Everybody may read them, in the catalog. */
export const marksIn = (parameter: string): string => `ARRAY(
  SELECT d.description FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
  JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0
  WHERE n.nspname = ${parameter} AND d.description LIKE '${MARK} %')`;
