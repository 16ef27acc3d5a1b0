import { NEEDS_ATTENTION } from '../../../definition/types/saga-status.js';
import type { StoredSummary, StoreFilter } from '../../../engine/ports/saga-store.js';
import type { Sql } from '../connection/sql.js';
import { isUuid } from '../../../engine/payload/storable-key.js';

interface SummaryRow {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly correlation_id: string | null;
  readonly status: StoredSummary['status'];
  readonly held_phase: 'running' | 'compensating' | null;
  readonly checkpoints: number;
  readonly step: string;
  readonly error: string | null;
  readonly tags: Record<string, string> | null;
  /** Milliseconds since the epoch. */
  readonly created: number;
  readonly updated: number;
  readonly finished: number | null;
}

/** As numbers: how a time is written goes by the connection's DateStyle. */
const millisecondsOf = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

const COLUMNS =
  'i.id, i.name, i.version, i.correlation_id, i.status, i.held_phase, i.checkpoints, i.step, i.error, i.tags, ' +
  `${millisecondsOf('i.created_at')} AS created, ${millisecondsOf('i.updated_at')} AS updated, ` +
  `${millisecondsOf('i.finished_at')} AS finished`;

/** Newest first, by id: ids made here carry their time (UUIDv7), and the primary key serves the order and the page. */
export async function findSagas(sql: Sql, schema: string, filter: StoreFilter): Promise<StoredSummary[]> {
  if (filter.status?.length === 0) return [];
  const { conditions, values } = conditionsOf(filter, schema);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const rows = await sql.query<SummaryRow[]>(
    `SELECT ${COLUMNS} FROM "${schema}".instance i ${where} ORDER BY i.id DESC LIMIT ${filter.limit}`,
    values,
  );
  return rows.map(toSummary);
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

function toSummary(row: SummaryRow): StoredSummary {
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    correlationId: row.correlation_id ?? undefined,
    status: row.status,
    heldPhase: row.held_phase ?? undefined,
    revision: row.checkpoints,
    step: row.step,
    error: row.error ?? undefined,
    tags: row.tags ?? undefined,
    createdAt: row.created,
    updatedAt: row.updated,
    finishedAt: row.finished ?? undefined,
  };
}
