import type { StoreFilter } from '../../engine/ports/saga-store.js';
import type { EngineCalls, FoundSagas } from '../../shards/engine-calls.js';
import type { Dated } from '../../store/postgres/read/standby.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import type { SagaSummary } from '../views/saga-snapshot.js';
import { toSummary } from '../views/to-snapshot.js';
import { type Page, type SagaFilter, toStoreFilter } from './saga-filter.js';

/** Lists sagas: on the primary, or on a standby. */
export type ListSagas = (filter: StoreFilter) => Promise<Dated<FoundSagas>>;

/** Lists sagas on the primary. */
export function listOn(engine: Pick<EngineCalls, 'find'>): ListSagas {
  return async (filter) => ({ value: await engine.find(filter) });
}

/**
 * Returns a page of the sagas that match a filter.
 * @throws SagaValidationError for an invalid filter
 */
export async function findPage(
  filter: SagaFilter | undefined,
  registry: SagaRegistry,
  list: ListSagas,
): Promise<Page<SagaSummary>> {
  const query = toStoreFilter(filter, registry);
  const { value: rows, asOf } = await list(query);
  const items = rows.slice(0, query.limit - 1).map(toSummary);
  const next = rows.length === query.limit ? items.at(-1)!.id : undefined;
  const { unreachable } = rows;
  return { items, next, ...(asOf && { asOf }), ...(unreachable && { unreachable }) };
}
