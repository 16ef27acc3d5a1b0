import type { NewSaga } from '../../../engine/ports/stored-saga.js';
import { type ColumnValues, columnArrays, columnScalars } from '../checkpoint/column-values.js';
import type { START_COLUMNS } from '../schema/functions/start.function.js';

/** A saga and, if it has a lock, its place among those that are started with it. */
interface Arrival {
  readonly saga: NewSaga;
  readonly place?: number;
}

const VALUES: ColumnValues<typeof START_COLUMNS, Arrival> = {
  id: ({ saga }) => saga.id,
  name: ({ saga }) => saga.name,
  version: ({ saga }) => saga.version,
  correlation_id: ({ saga }) => saga.correlationId,
  step: ({ saga }) => saga.step,
  input: ({ saga }) => saga.input,
  tags: ({ saga: { tags } }) => tags && JSON.stringify(tags),
  priority: ({ saga }) => saga.priority,
  leased: ({ saga }) => takesLease(saga),
  delay: ({ saga }) => saga.delay,
  start_at: ({ saga }) => saga.startAt,
  timeout: ({ saga }) => saga.timeout,
  lock_key: ({ saga }) => saga.lockKey,
  lock_order: ({ place }) => place,
  sla: ({ saga }) => saga.sla,
  limit_key: ({ saga }) => saga.limitKey,
};

/**
 * The parameters of start.function.ts: an array for each column.
 * @param arrivals the sagas in the order in which they came, as those with a lock are to have it
 */
export function startParameters(sagas: readonly NewSaga[], arrivals: readonly NewSaga[]): unknown[] {
  return columnArrays(
    VALUES,
    sagas.map((saga) => arrivalOf(saga, arrivals)),
  );
}

/** The scalars of the same function for one saga; undefined when it is not one. */
export function startOneParameters(sagas: readonly NewSaga[]): unknown[] | undefined {
  return sagas.length === 1 ? columnScalars(VALUES, arrivalOf(sagas[0]!, sagas)) : undefined;
}

function arrivalOf(saga: NewSaga, arrivals: readonly NewSaga[]): Arrival {
  return saga.lockKey === undefined ? { saga } : { saga, place: arrivals.indexOf(saga) };
}

/** One with a semantic lock may have to wait for it, so its start takes no lease. */
export function takesLease({ leased, lockKey }: NewSaga): boolean {
  return leased && lockKey === undefined;
}
