import type { StoredTask, StoreTaskFilter } from '../../../engine/ports/stored-task.js';
import type { Sql } from '../connection/sql.js';
import { loadedOperationsSql } from '../edit/operation.sql.js';
import type { StoredOperation } from '../../../engine/ports/operation.js';
import { sagaFields } from '../schema/saga-row.js';
import { millisecondsOf } from '../schema/step-row.js';
import { type Nullable, withoutNulls } from './without-nulls.js';

type TaskRow = Nullable<Omit<StoredTask, 'operations'>> & {
  readonly operations: Nullable<StoredOperation>[] | null;
};

/** Adds a value to the statement's. Returns its parameter. */
type Given = (value: unknown) => string;

/** The oldest first. Each page costs its rows, however many wait; with tags also what is left out. */
export async function findTasks(sql: Sql, schema: string, filter: StoreTaskFilter): Promise<StoredTask[]> {
  const values: unknown[] = [];
  const text = tasksSql(`"${schema}"`, filter, (value) => `$${values.push(value)}`);
  return (await sql.query<TaskRow[]>(text, values)).map(toStoredTask);
}

const ORDER = (t: string) => `ORDER BY ${t}.since, ${t}.saga_id, ${t}.step`;

/** Plan: a page of the index task_oldest or task_of_step, then the rest of each row by primary keys. */
function tasksSql(schema: string, filter: StoreTaskFilter, given: Given): string {
  return `
SELECT ${sagaFields('i', ['id', 'name', 'version', 'correlationId', 'tags'])}, t.step, ${millisecondsOf('t.since')} AS since,
  (s.progress #>> '{wait,until}')::float8 AS until, (s.progress #>> '{wait,quorum}')::int AS quorum, ${loadedOperationsSql(schema, 'i')} AS operations
FROM (${pageSql(schema, filter, given)}) t
JOIN ${schema}.instance i ON i.id = t.saga_id
LEFT JOIN ${schema}.step s ON s.saga_id = t.saga_id AND s.name = t.step
${ORDER('t')}`;
}

function pageSql(schema: string, filter: StoreTaskFilter, given: Given): string {
  const { name, step, limit } = filter;
  const isWhole = (name === undefined) === (step === undefined);
  const [saga, of] = [name, step].map((value) => (value === undefined ? undefined : given(value)));
  const after = afterSql(schema, filter, given);
  const page = (conditions: readonly string[]) => {
    const where = [...conditions, ...after].join(' AND ');
    return `SELECT t.saga_id, t.step, t.since FROM ${schema}.task t WHERE ${where} ${ORDER('t')} LIMIT ${limit}`;
  };
  if (isWhole) return page(saga === undefined ? [] : [`t.saga = ${saga}`, `t.step = ${of}`]);
  // A page of each kind that there is, then the oldest of them all.
  return `
  SELECT p.* FROM (${kindsSql(schema, saga, of)}) k CROSS JOIN LATERAL (${page(['t.saga = k.saga', 't.step = k.step'])}) p
  ${ORDER('p')} LIMIT ${limit}`;
}

/**
 * The sagas and steps of which some wait. Plan: jumps from one to the next in task_of_step, however many wait of each. There
 * are no more than the graphs have approvals.
 */
function kindsSql(schema: string, saga: string | undefined, step: string | undefined): string {
  const ofSaga = saga === undefined ? '' : `AND t.saga = ${saga}`;
  const next = (condition: string) =>
    `SELECT t.saga, t.step FROM ${schema}.task t WHERE ${condition} ${ofSaga} ORDER BY t.saga, t.step LIMIT 1`;
  return `WITH RECURSIVE kinds AS (
    (${next('true')})
    UNION ALL
    SELECT n.saga, n.step FROM kinds k CROSS JOIN LATERAL (${next('(t.saga, t.step) > (k.saga, k.step)')}) n
  ) SELECT saga, step FROM kinds${step === undefined ? '' : ` WHERE step = ${step}`}`;
}

function afterSql(schema: string, { after, tags }: StoreTaskFilter, given: Given): string[] {
  const conditions: string[] = [];
  if (after) {
    const { since, id, step } = after;
    const place = [`to_timestamp(${given(since)}::float8 / 1000)`, `${given(id)}::uuid`, given(step)];
    conditions.push(`(t.since, t.saga_id, t.step) > (${place.join(', ')})`);
  }
  const saga = `FROM ${schema}.instance i WHERE i.id = t.saga_id`;
  // A saga without tags has all of none. A saga whose row was deleted by a statement of the
  // application is left out here, so that pages are full. A subquery that gives a value is never joined, whatever the
  // statistics say.
  if (tags === undefined || Object.keys(tags).length === 0) conditions.push(`(SELECT true ${saga})`);
  else conditions.push(`EXISTS (SELECT ${saga} AND i.tags @> ${given(JSON.stringify(tags))}::jsonb)`);
  return conditions;
}

function toStoredTask({ operations, ...row }: TaskRow): StoredTask {
  return {
    ...withoutNulls(row),
    ...(operations && { operations: operations.map((json) => withoutNulls(json)) }),
  };
}
