import { NEEDS_ATTENTION } from '../../../definition/types/saga-status.js';
import type { StoredSummary, StoreFilter } from '../../../engine/ports/saga-store.js';
import { type SagaField, sagaFields } from '../schema/saga-row.js';
import { type Nullable, withoutNulls } from './without-nulls.js';
import type { Sql } from '../connection/sql.js';
import { isUuid } from '../../../engine/payload/storable-key.js';

/** What `find` shows of a saga's row. */
const SUMMARY: readonly SagaField[] = [
  ...(['id', 'name', 'version', 'correlationId', 'status', 'heldPhase', 'step', 'error', 'tags'] as const),
  ...(['checkpoints', 'createdAt', 'updatedAt', 'finishedAt'] as const),
];
type SummaryRow = Nullable<Omit<StoredSummary, 'revision'>> & { readonly checkpoints: number };

/** Newest first, by id: ids made here carry their time (UUIDv7), and the primary key serves the order and the page. */
export async function findSagas(sql: Sql, schema: string, filter: StoreFilter): Promise<StoredSummary[]> {
  if (filter.status?.length === 0) return [];
  const { conditions, values } = conditionsOf(filter, schema);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const rows = await sql.query<SummaryRow[]>(
    `SELECT ${sagaFields('i', SUMMARY)} FROM "${schema}".instance i ${where} ORDER BY i.id DESC LIMIT ${filter.limit}`,
    values,
  );
  return rows.map(({ checkpoints: revision, ...row }) => ({ ...withoutNulls(row), revision }));
}

function conditionsOf(filter: StoreFilter, schema: string): { conditions: string[]; values: unknown[] } {
  const { before, name, status, correlationId, tags, createdAfter, createdBefore } = filter;
  const values: unknown[] = [];
  const conditions: string[] = [];
  const given = (value: unknown) => `$${values.push(value)}`;
  if (before !== undefined) conditions.push(`i.id < ${given(before)}`);
  if (name !== undefined) conditions.push(`i.name = ${given(name)}`);
  if (status !== undefined) {
    const list = status.map(given).join(', ');
    conditions.push(`i.status IN (${list})`);
    // Served by the index instance_needs_attention: a saga is idle in these.
    if (status.every((one) => NEEDS_ATTENTION.includes(one))) conditions.push(`i.idle_status IN (${list})`);
  }
  if (correlationId !== undefined) {
    const key = given(correlationId);
    // With the id as text and as a uuid, PostgreSQL cannot tell the type of one parameter.
    const own = isUuid(correlationId)
      ? ` OR (i.correlation_id IS NULL AND i.id = ${given(correlationId)}::uuid)`
      : '';
    conditions.push(`(i.correlation_id = ${key}${own})`);
  }
  // A saga without tags has all of none.
  if (tags !== undefined && Object.keys(tags).length > 0)
    conditions.push(`i.tags @> ${given(JSON.stringify(tags))}`);
  if (createdAfter !== undefined) conditions.push(`i.created_at >= ${given(createdAfter)}`);
  if (createdBefore !== undefined) conditions.push(`i.created_at < ${given(createdBefore)}`);
  conditions.push(...conditionsOfProgress(filter, schema, given));
  return { conditions, values };
}

/** These have no index: they are checked for each saga that the other conditions and the page lead to. */
function conditionsOfProgress(
  { finishedAfter, finishedBefore, step, waitingFor, overdue, errorCode }: StoreFilter,
  schema: string,
  given: (value: unknown) => string,
): string[] {
  const conditions: string[] = [];
  if (finishedAfter !== undefined) conditions.push(`i.finished_at >= ${given(finishedAfter)}`);
  if (finishedBefore !== undefined) conditions.push(`i.finished_at < ${given(finishedBefore)}`);
  if (step !== undefined) conditions.push(`${given(step)} = ANY(string_to_array(i.step, ', '))`);
  if (waitingFor !== undefined)
    conditions.push(`i.progress::jsonb @> ${given(JSON.stringify({ awaits: [waitingFor] }))}::jsonb`);
  if (overdue !== undefined)
    conditions.push(`(i.sla_at <= COALESCE(i.finished_at, now())) IS ${overdue ? '' : 'NOT '}TRUE`);
  if (errorCode !== undefined) {
    const error = given(JSON.stringify([{ code: errorCode }]));
    conditions.push(
      `(i.failure->'error'->>'code' = ${given(errorCode)} OR EXISTS (SELECT FROM "${schema}".step s ` +
        `WHERE s.saga_id = i.id AND s.errors::jsonb @> ${error}::jsonb))`,
    );
  }
  return conditions;
}
