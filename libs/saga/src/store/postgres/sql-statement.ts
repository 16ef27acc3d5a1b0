/** A statement of a `.sql` file, with the names of its parameters and of the values that TypeScript gives. */
export interface SqlStatement<Parameter extends string, Value extends string> {
  /** The folder of the file. */
  readonly folder: string;
  /** In the order of their numbers in the text. */
  readonly parameters: readonly Parameter[];
  readonly values: readonly Value[];
  readonly text: string;
}

/** Returns what it is given, with a type that is short in the declarations of the package. */
export function sqlStatement<const Parameter extends string, const Value extends string>(
  statement: SqlStatement<Parameter, Value>,
): SqlStatement<Parameter, Value> {
  return statement;
}
