import type { NewSaga } from '../../engine/saga-store.js';

/**
 * The arrays of start.function.ts: one a column.
 * @param arrivals the sagas in the order in which they came, as those with a lock are to have it
 */
export function startParameters(sagas: readonly NewSaga[], arrivals: readonly NewSaga[]): unknown[][] {
  const rows = sagas.map((saga) => startRow(saga, arrivals));
  return rows[0]!.map((_, column) => rows.map((row) => row[column] ?? null));
}

/** The scalars of the same function for one saga; undefined when it is not one. */
export function startOneParameters(sagas: readonly NewSaga[]): unknown[] | undefined {
  return sagas.length === 1 ? startRow(sagas[0]!, sagas) : undefined;
}

function startRow(saga: NewSaga, arrivals: readonly NewSaga[]): unknown[] {
  return [
    saga.id,
    saga.name,
    saga.version,
    saga.correlationId,
    saga.step,
    saga.input,
    saga.tags && JSON.stringify(saga.tags),
    saga.priority,
    takesLease(saga),
    saga.delay,
    saga.startAt,
    saga.timeout,
    saga.lockKey,
    saga.lockKey === undefined ? undefined : arrivals.indexOf(saga),
    saga.sla,
  ];
}

/** One with a semantic lock may have to wait for it, so its start takes no lease. */
export function takesLease({ leased, lockKey }: NewSaga): boolean {
  return leased && lockKey === undefined;
}
