import { arrayLiteral, type Scalar } from './array-literal.js';

/** What each column of a function's rows holds, in the order of its parameters. */
export type ColumnValues<Columns, Row> = { readonly [Name in keyof Columns]: (row: Row) => Scalar };

type Values<Row> = Readonly<Record<string, (row: Row) => Scalar>>;

/** A parameter for each column: the array of its values. */
export function columnArrays<Row>(columns: Values<Row>, rows: readonly Row[]): (string | null)[] {
  return Object.values(columns).map((valueOf) => arrayLiteral(rows, valueOf));
}

/** A parameter for each column: its value in the only row. */
export function columnScalars<Row>(columns: Values<Row>, row: Row): (Exclude<Scalar, undefined> | null)[] {
  return Object.values(columns).map((valueOf) => valueOf(row) ?? null);
}
