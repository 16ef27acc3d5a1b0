import type { NewSaga } from '../../../engine/ports/stored-saga.js';
import { columnArrays, columnScalars, type RowColumn, type Scalar } from '../checkpoint/column-values.js';
import { SAGA_ROW, type SagaFieldWith } from '../schema/saga-row.js';

/** A saga and, if it has a lock, its place among those that are started with it. */
interface Arrival {
  readonly saga: NewSaga;
  readonly place?: number;
}

/** What a start stores as it is given: see SAGA_COLUMNS. */
const STORED: Record<SagaFieldWith<{ readonly isStarted: true }>, (arrival: Arrival) => Scalar> = {
  id: ({ saga }) => saga.id,
  name: ({ saga }) => saga.name,
  version: ({ saga }) => saga.version,
  correlationId: ({ saga }) => saga.correlationId,
  step: ({ saga }) => saga.step,
  input: ({ saga }) => saga.input,
  tags: ({ saga: { tags } }) => tags && JSON.stringify(tags),
  priority: ({ saga }) => saga.priority,
  lockKey: ({ saga }) => saga.lockKey,
  limitKey: ({ saga }) => saga.limitKey,
};
/** The columns that a start stores as they are given. */
export const STARTED = SAGA_ROW.filter(({ isStarted }) => isStarted);

/** What start.sql is given of a new saga. */
export const START_PARAMETERS: readonly RowColumn<Arrival>[] = [
  ...STARTED.map(({ field, name, type }) => ({ name, type, valueOf: STORED[field as keyof typeof STORED] })),
  { name: 'leased', type: 'boolean', valueOf: ({ saga }) => takesLease(saga) },
  { name: 'delay', type: 'float8', valueOf: ({ saga }) => saga.delay },
  { name: 'start_at', type: 'float8', valueOf: ({ saga }) => saga.startAt },
  { name: 'timeout', type: 'float8', valueOf: ({ saga }) => saga.timeout },
  { name: 'sla', type: 'float8', valueOf: ({ saga }) => saga.sla },
  { name: 'lock_order', type: 'int', valueOf: ({ place }) => place },
];

/**
 * The parameters of start.sql: an array for each column.
 * @param arrivals the sagas in the order in which they came, as those with a lock are to have it
 */
export function startParameters(sagas: readonly NewSaga[], arrivals: readonly NewSaga[]): unknown[] {
  return columnArrays(
    START_PARAMETERS,
    sagas.map((saga) => arrivalOf(saga, arrivals)),
  );
}

/** The scalars of the same function for one saga; undefined when it is not one. */
export function startOneParameters(sagas: readonly NewSaga[]): unknown[] | undefined {
  return sagas.length === 1 ? columnScalars(START_PARAMETERS, arrivalOf(sagas[0]!, sagas)) : undefined;
}

function arrivalOf(saga: NewSaga, arrivals: readonly NewSaga[]): Arrival {
  return saga.lockKey === undefined ? { saga } : { saga, place: arrivals.indexOf(saga) };
}

/** One with a semantic lock may have to wait for it, so its start takes no lease. */
export function takesLease({ leased, lockKey }: NewSaga): boolean {
  return leased && lockKey === undefined;
}

/** The number of arguments of start.sql: a worker, its lease, the columns, and whether nothing can be there yet. */
export const START_ARGUMENTS = 2 + START_PARAMETERS.length + 1;
