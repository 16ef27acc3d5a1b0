import { APPROVAL_PREFIX } from '../../definition/options/signal-name.js';
import { ENDED_STATUSES, IN_PROGRESS, SETTLED } from '../../definition/types/saga-status.js';
import { LARGEST_SHOWN } from '../../engine/ports/operation.js';
import { SMALL_SAGA } from '../../engine/ports/payload-size.js';
import { BEYOND, DELETION_KNOWN_FOR } from '../../engine/ports/put-back.js';
import { PRIORITY_POINT_MS } from '../../engine/ports/saga-store.js';
import { SLOT_KEPT_MS, SLOT_LOOKS } from '../../engine/ports/step-slots.js';
import {
  CHECKPOINTED,
  PUBLISH_PARAMETERS,
  SAGA_PARAMETERS,
  STEP_PARAMETERS,
} from './checkpoint/checkpoint-parameters.js';
import { IS_RAISED, NOT_READ_COMMITTED } from './connection/isolation.js';
import { loadedOperationsSql, operationJson } from './edit/operation.sql.js';
import { inList } from './schema/in-list.js';
import { notedColumn } from './schema/noted-columns.js';
import { sagaFields, sagaFieldTypes, STORED_FIELDS } from './schema/saga-row.js';
import { eachStepColumn, stepFieldsJson } from './schema/step-row.js';
import { BELONGINGS, PARTITIONED, TABLES } from './schema/tables/table-facts.js';
import { START_PARAMETERS, STARTED } from './start/start-parameters.js';

/** More messages than so many are not counted: enough to know that something is wrong. */
export const MOST_MESSAGES = 100_000;

/** Periods begin on Mondays, if they are weeks: 1970 began on a Thursday. Milliseconds. */
export const FIRST_MONDAY = 345_600_000;

type Columns = readonly { readonly name: string; readonly type: string }[];

/**
 * Rows that a function is given: a parameter is an array of a column's values, or the value of the only row.
 * @param prefix what the parameters' names begin with: a column of the function's tables may have the same name
 */
const rowsOf = <Name extends string>(name: Name, prefix: string, columns: Columns) => {
  const each = (textOf: (column: string, given: string, type: string) => string) =>
    columns
      .map(({ name: column, type }) => textOf(column, `${prefix}_${column.replaceAll('"', '')}`, type))
      .join(', ');
  const values = {
    TYPES: each((_, given, type) => `${given} ${type}[]`),
    TYPES_ONE: each((_, given, type) => `${given} ${type}`),
    GIVEN: each((_, given) => given),
    GIVEN_ONE: each((column, given) => `${given} AS ${column}`),
    COLUMNS: each((column) => column),
    // Of the rows `w` of a query, in the order in which they were given.
    AGGREGATES: each((column) => `array_agg(w.${column} ORDER BY w.row_of_call)`),
  };
  type Value = `${Name}_${keyof typeof values}`;
  return Object.fromEntries(
    Object.entries(values).map(([value, text]) => [`${name}_${value}`, text]),
  ) as Record<Value, string>;
};

/** What TypeScript knows, and the `.sql` files name in capitals: constants, and texts that tables of facts say. */
export const SQL_VALUES = {
  ...{
    APPROVAL_PREFIX: `'${APPROVAL_PREFIX}'`,
    DELETION_KNOWN_FOR,
    PRIORITY_POINT_MS,
    SLOT_KEPT_MS,
    SLOT_LOOKS,
  },
  ...{ FIRST_MONDAY, SMALL_SAGA, IS_RAISED, NOT_READ_COMMITTED: `'${NOT_READ_COMMITTED}'` },
  ...{ ENDED_STATUSES: inList(ENDED_STATUSES), IN_PROGRESS: inList(IN_PROGRESS), SETTLED: inList(SETTLED) },
  ...{ BEYOND, MOST_MESSAGES },
  ...rowsOf('START', 'n', START_PARAMETERS),
  ...rowsOf('SAGA', 'w', SAGA_PARAMETERS),
  ...rowsOf('STEP', 'c', STEP_PARAMETERS),
  ...rowsOf('MESSAGE', 'm', PUBLISH_PARAMETERS),
  STARTED_COLUMNS: STARTED.map(({ name }) => name).join(', '),
  STARTED_VALUES: STARTED.map(({ name }) => `w.${name}`).join(', '),
  CHECKPOINTED: CHECKPOINTED.map(({ name }) => `${name} = w.${name}`).join(', '),
  // Of the row `i` of a saga.
  STORED_FIELDS: sagaFields('i', STORED_FIELDS),
  AROUND_FIELDS: sagaFields('i', ['limitKey', 'inputReplaced', 'startedInput']),
  OVERDUE_FIELDS: sagaFields('m', ['id', 'name', 'version', 'correlationId', 'status', 'step', 'slaAt']),
  LOADED_OPERATIONS: loadedOperationsSql('saga', 'i'),
  SHOWN_OPERATION: operationJson('o', `octet_length(o.given::text) <= ${LARGEST_SHOWN}`),
  STORED_TYPES: sagaFieldTypes(STORED_FIELDS),
  // The columns of a step that have its state; the row is `s`, and `c` has what a checkpoint stores of it.
  STEP_FIELDS_JSON: stepFieldsJson('s'),
  STATE_COLUMNS: eachStepColumn(({ name }) => name),
  STATE_COLUMN_TYPES: eachStepColumn(({ name, type }) => `${name} ${type}`),
  STATE_WRITTEN: eachStepColumn(({ name, written }) => written(`c.${name}`)),
  STATE_UPDATES: eachStepColumn(({ name }) => `${name} = excluded.${name}`),
  NOTED_COLUMNS: eachStepColumn(notedColumn),
  DELETE_BELONGINGS: BELONGINGS.map(
    (table) => `DELETE FROM saga.${table} b WHERE b.${TABLES[table]!.sagaId} = ANY(family);`,
  ).join('\n      '),
  PARTITIONED: PARTITIONED.map(({ table, key, fillfactor }) => `('${table}', '${key}', ${fillfactor})`).join(
    ', ',
  ),
};
