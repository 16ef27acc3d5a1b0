import type { EntityManager } from 'typeorm';
import type { StoredSummary, StoreFilter } from '../../../engine/ports/saga-store.js';
import { SagaInstance } from '../schema/saga-entities.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Milliseconds since the epoch. */
interface Times {
  readonly created: number;
  readonly updated: number;
  readonly finished: number | null;
}

const millisecondsOf = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** Newest first, by id: ids made here carry their time (UUIDv7), and the primary key serves the order and the page. */
export async function findSagas(manager: EntityManager, filter: StoreFilter): Promise<StoredSummary[]> {
  if (filter.status?.length === 0) return [];
  const query = manager
    .getRepository(SagaInstance)
    .createQueryBuilder('i')
    .select([
      'i.id',
      'i.name',
      'i.version',
      'i.correlationId',
      'i.status',
      'i.heldPhase',
      'i.checkpoints',
      'i.step',
      'i.error',
      'i.tags',
    ])
    // As numbers: how a time is written goes by the connection's DateStyle.
    .addSelect(millisecondsOf('i.createdAt'), 'created')
    .addSelect(millisecondsOf('i.updatedAt'), 'updated')
    .addSelect(millisecondsOf('i.finishedAt'), 'finished')
    .orderBy('i.id', 'DESC')
    .take(filter.limit);
  if (filter.before !== undefined) query.andWhere('i.id < :before', { before: filter.before });
  if (filter.name !== undefined) query.andWhere('i.name = :name', { name: filter.name });
  if (filter.status !== undefined) query.andWhere('i.status IN (:...status)', { status: filter.status });
  if (filter.correlationId !== undefined) {
    const own = UUID.test(filter.correlationId) ? ' OR (i.correlationId IS NULL AND i.id = :key::uuid)' : '';
    query.andWhere(`(i.correlationId = :key${own})`, { key: filter.correlationId });
  }
  // A saga without tags has all of none.
  if (filter.tags !== undefined && Object.keys(filter.tags).length > 0)
    query.andWhere('i.tags @> :tags', { tags: JSON.stringify(filter.tags) });
  if (filter.createdAfter !== undefined)
    query.andWhere('i.createdAt >= :after', { after: filter.createdAfter });
  if (filter.createdBefore !== undefined)
    query.andWhere('i.createdAt < :until', { until: filter.createdBefore });
  const { entities, raw } = await query.getRawAndEntities<Times>();
  return entities.map((row, n) => ({
    id: row.id,
    name: row.name,
    version: row.version,
    correlationId: row.correlationId ?? undefined,
    status: row.status,
    heldPhase: row.heldPhase ?? undefined,
    revision: row.checkpoints,
    step: row.step,
    error: row.error ?? undefined,
    tags: row.tags ?? undefined,
    createdAt: raw[n]!.created,
    updatedAt: raw[n]!.updated,
    finishedAt: raw[n]!.finished ?? undefined,
  }));
}
