import {
  STEP_FIELDS,
  type StepField,
  type StepFieldWith,
  type StepState,
} from '../../../machine/saga-state.js';

/** What PostgreSQL has for the columns of a kind. */
interface ColumnKind {
  readonly type: string;
  /** What follows the type when the table is created. */
  readonly constraint: string;
  /** The type of the parameter that a checkpoint sends. */
  readonly parameter: string;
  /** Returns the column's value from the parameter. */
  readonly written: (parameter: string) => string;
  /** Returns the column's value as it is read in JSON. */
  readonly read: (column: string) => string;
}

const asItIs = (column: string): string => column;

const KINDS: Readonly<Record<NonNullable<StepField['column']>, ColumnKind>> = {
  text: { type: 'text', constraint: 'NOT NULL', parameter: 'text', written: asItIs, read: asItIs },
  // 0 and false may be sent as null: see checkpoint-parameters.ts.
  count: {
    ...{ type: 'int', constraint: 'NOT NULL DEFAULT 0', parameter: 'int' },
    ...{ written: (count) => `coalesce(${count}, 0)`, read: asItIs },
  },
  flag: {
    ...{ type: 'boolean', constraint: 'NOT NULL DEFAULT false', parameter: 'boolean' },
    ...{ written: (flag) => `coalesce(${flag}, false)`, read: asItIs },
  },
  // Milliseconds since the epoch in parameters and JSON.
  time: {
    ...{ type: 'timestamptz', constraint: '', parameter: 'float8' },
    ...{ written: (time) => `to_timestamp(${time} / 1000)`, read: millisecondsOf },
  },
  // A result is read as text: the driver would parse JSON null and SQL NULL into the same value, and a result may be either.
  json: { type: 'json', constraint: '', parameter: 'json', written: asItIs, read: (json) => `${json}::text` },
  errors: { type: 'json', constraint: '', parameter: 'json', written: asItIs, read: asItIs },
};

/** The names of the fields that have a column. */
export type StepColumnField = StepFieldWith<{ readonly column: string }>;
/** The names of the fields that are in the column `progress`. */
export type StepProgressField = Exclude<keyof typeof STEP_FIELDS, StepColumnField>;

/** A column of the table of steps that has a field of a step's state. */
export interface StepColumn extends ColumnKind, StepField {
  readonly field: StepColumnField;
  readonly kind: NonNullable<StepField['column']>;
  /** The name of the column, quoted if it has to be. */
  readonly name: string;
}

const fields = Object.entries(STEP_FIELDS as Record<string, StepField>);

export const STEP_COLUMNS: readonly StepColumn[] = fields.flatMap(([field, { column: kind, ...rest }]) =>
  kind ? [{ field: field as StepColumnField, kind, name: columnName(field), ...rest, ...KINDS[kind] }] : [],
);

/** The fields in the column `progress`. */
export const STEP_PROGRESS = fields.flatMap(([field, { column, stored }]) =>
  column ? [] : [{ field: field as StepProgressField, stored }],
);

/** The columns in the order of the table. @param textOf returns the SQL of one */
export const eachStepColumn = (textOf: (column: StepColumn) => string): string =>
  STEP_COLUMNS.map(textOf).join(', ');

/** The fields of a step's row as arguments of json_build_object. @param s the alias of the row */
export const stepFieldsJson = (s: string, columns: readonly StepColumn[] = STEP_COLUMNS): string =>
  columns.map(({ field, name, read }) => `'${field}', ${read(`${s}.${name}`)}`).join(', ');

export function millisecondsOf(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::float8`;
}

export function columnName(field: string): string {
  return field === 'unknown' ? '"unknown"' : field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The state of a step of which nothing is known yet, whose fields a reader fills in. */
export type StepInMaking = { -readonly [Name in keyof StepState]: unknown };
