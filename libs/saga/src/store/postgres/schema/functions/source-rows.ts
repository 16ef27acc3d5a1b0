/** A function's columns with the types of their values, in the order of its parameters. */
export type Columns = readonly { readonly name: string; readonly type: string }[];

/** How a function is given its rows: a parameter is an array of a column's values, or the value of the only row. */
export interface RowSource {
  /** The parameters' types. */
  readonly types: (columns: Columns) => string;
  /** The rows that the parameters from `$first` on make, as a table named `alias`. */
  readonly rows: (columns: Columns, alias: string, first: number) => string;
}

const parameters = (columns: Columns, first: number): string[] => columns.map((_, n) => `$${first + n}`);

export const BATCH: RowSource = {
  types: (columns) => columns.map(({ type }) => `${type}[]`).join(', '),
  rows: (columns, alias, first) =>
    `unnest(${parameters(columns, first).join(', ')}) AS ${alias}(${columns.map(({ name }) => name).join(', ')})`,
};

/**
 * For a batch of one, as on an idle server: a fifth less time in the server than with arrays of one. If the first value is
 * null, there is no row: such a call only plans the function's statements.
 */
export const SINGLE: RowSource = {
  types: (columns) => columns.map(({ type }) => type).join(', '),
  rows: (columns, alias, first) => {
    const values = parameters(columns, first);
    return `(SELECT ${columns.map(({ name }, n) => `${values[n]} AS ${name}`).join(', ')} WHERE ${values[0]} IS NOT NULL) AS ${alias}`;
  },
};
