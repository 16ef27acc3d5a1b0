import { NEEDS_ATTENTION } from '../../../../definition/types/saga-status.js';
import { inList } from '../in-list.js';
import { SAGA_ROW } from '../saga-row.js';

/** The table of sagas: a row for each. */
export const instanceTable = (schema: string): string[] => [
  // `json` rather than jsonb for payloads: it keeps text and key order exactly, and costs less to write.
  // Fillfactor leaves updates room on their own page (HOT), so that they touch no index: a batch writes all rows of a page at
  // once, so half of it. At 70 fewer than half of them were HOT, and what went to other pages made the table larger, not smaller.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.instance (
        ${SAGA_ROW.map(({ name, type, constraint = '' }) => `${name} ${type} ${constraint}`).join(', ')}
      ) WITH (fillfactor = 50)`,
];

/** The indexes of the table of sagas, and the sequence of the places in the queues of locks. */
export const instanceIndexes = (schema: string): string[] => [
  // Unfinished work only: finished sagas have no rank_at, and cost the claim nothing.
  `
      CREATE INDEX IF NOT EXISTS instance_due ON ${schema}.instance (name, version, rank_at)
        WHERE rank_at IS NOT NULL`,
  // The rest of the unfinished sagas: they wait. The index costs others nothing: a row that a plain saga writes is
  // either due or finished, and when finished_at changes, so does rank_at, which is indexed anyway. The status is for
  // queries that count them. It is a copy: `status` changes while a worker holds the saga, and no update that changes a
  // column of an index is HOT.
  `
      CREATE INDEX IF NOT EXISTS instance_idle ON ${schema}.instance (name, version, id) INCLUDE (idle_status)
        WHERE rank_at IS NULL AND finished_at IS NULL`,
  `
      CREATE UNIQUE INDEX IF NOT EXISTS instance_correlation ON ${schema}.instance (correlation_id, name)
        WHERE correlation_id IS NOT NULL`,
  // Sagas with a semantic lock only: the line of each key, and the promise that one of it is active.
  `
      CREATE INDEX IF NOT EXISTS instance_lock_queue ON ${schema}.instance (name, lock_key, lock_position)
        WHERE lock_state IS NOT NULL`,
  `
      CREATE UNIQUE INDEX IF NOT EXISTS instance_lock_held ON ${schema}.instance (name, lock_key)
        WHERE lock_state = 'held'`,
  `
      CREATE INDEX IF NOT EXISTS instance_lock_inside ON ${schema}.instance (name, lock_key, lock_position)
        WHERE lock_state = 'inside'`,
  // Unfinished sagas with a limit for each key, by key. Costs others nothing.
  `
      CREATE INDEX IF NOT EXISTS instance_limit ON ${schema}.instance (name, version, limit_key, rank_at)
        WHERE limit_key IS NOT NULL AND rank_at IS NOT NULL`,
  `CREATE SEQUENCE IF NOT EXISTS ${schema}.lock_position`,
  // Sagas with an sla only: those that will be overdue, by when, and those that are.
  `
      CREATE INDEX IF NOT EXISTS instance_sla ON ${schema}.instance (sla_at)
        WHERE sla_at IS NOT NULL AND NOT overdue AND finished_at IS NULL`,
  `
      CREATE INDEX IF NOT EXISTS instance_overdue ON ${schema}.instance (id)
        WHERE overdue AND finished_at IS NULL`,
  // What an operator looks for first; few rows at any time.
  `
      CREATE INDEX IF NOT EXISTS instance_needs_attention ON ${schema}.instance (idle_status, id)
        WHERE idle_status IN ${inList(NEEDS_ATTENTION)}`,
  `
      CREATE INDEX IF NOT EXISTS instance_tags ON ${schema}.instance USING gin (tags) WHERE tags IS NOT NULL`,
  // Who goes with a saga that is deleted. Costs sub-sagas and remote calls only.
  `
      CREATE INDEX IF NOT EXISTS instance_parent ON ${schema}.instance (parent_id) WHERE parent_id IS NOT NULL`,
];
