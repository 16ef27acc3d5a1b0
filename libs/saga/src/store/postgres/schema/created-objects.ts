type Kind = 'VIEW' | 'TABLE' | 'SEQUENCE' | 'FUNCTION';

/** The names of the views, tables, sequences or functions that these statements create. A statement creates one at most. */
export function createdBy(statements: readonly string[], kind: Kind): string[] {
  const create = new RegExp(`^\\s*CREATE (?:OR REPLACE )?${kind} (?:IF NOT EXISTS )?"[^"]+"\\.(\\w+)`);
  return [...new Set(statements.flatMap((statement) => create.exec(statement)?.[1] ?? []))];
}

/** The statements that drop what these create in a schema. */
export function dropsOf(statements: readonly string[], schema: string): string[] {
  return (['VIEW', 'FUNCTION', 'TABLE', 'SEQUENCE'] as const).flatMap((kind) =>
    createdBy(statements, kind).map((name) => `DROP ${kind} IF EXISTS "${schema}".${name}`),
  );
}
