import { SAGA_ROW } from '../saga-row.js';
import { STEP_COLUMNS } from '../step-row.js';

/** Facts about a table that its DDL does not state. */
interface TableFacts {
  /** The column with the id of the saga that a row is part of. Undefined: no row is part of a single saga. */
  readonly sagaId?: string;
  /**
   * What removes the rows of a saga.
   * - `deletion`: the deletion of the saga, by cleanup or with its partition.
   * - `end`: statements after the saga's checkpoints, and operators' edits, remove them. None is left after its end.
   * - `time`: the rows expire, whether the saga exists or not.
   */
  readonly removedBy?: 'deletion' | 'end' | 'time';
  /** The fill factor of its partitions, in percent. Undefined: the table is never partitioned. */
  readonly fillfactor?: number;
  /** JSON and text columns with values of the application, which a codec encodes. */
  readonly encoded?: readonly string[];
  /** JSON columns without values of the application. */
  readonly open?: readonly string[];
}

/** The tables of sagas, in the order in which they are created. */
const OF_SAGAS = {
  instance: {
    ...{ sagaId: 'id', removedBy: 'deletion', fillfactor: 50 },
    encoded: SAGA_ROW.flatMap(({ name, isPrivate }) => (isPrivate ? [name] : [])),
    open: SAGA_ROW.flatMap(({ name, type, isPrivate }) =>
      type.startsWith('json') && !isPrivate ? [name] : [],
    ),
  },
  step: {
    ...{ sagaId: 'saga_id', removedBy: 'deletion', fillfactor: 100 },
    encoded: [...STEP_COLUMNS.flatMap(({ name, isPrivate }) => (isPrivate ? [name] : [])), 'progress'],
  },
  signal: { sagaId: 'saga_id', removedBy: 'deletion', fillfactor: 100, encoded: ['payload'] },
  operation: { sagaId: 'saga_id', removedBy: 'deletion', fillfactor: 100, encoded: ['reason', 'given'] },
  task: { sagaId: 'saga_id', removedBy: 'end' },
  deleted: { sagaId: 'id', removedBy: 'time' },
  saga_limit: {},
  step_limit: {},
  step_slot: { sagaId: 'saga_id', removedBy: 'end' },
  rate_limit: {},
  rate_time: { sagaId: 'holder', removedBy: 'time' },
  graph: { open: ['graph'] },
  schedule: { encoded: ['pause_reason'] },
  shard: {},
  step_pause: { encoded: ['pause_reason', 'resume_reason'] },
} as const satisfies Record<string, TableFacts>;

/** The tables of the outbox and the inbox. */
const OF_MESSAGES = {
  outbox: { encoded: ['payload'], open: ['headers'] },
  outbox_lane: {},
  relay: {},
  inbox: {},
} as const satisfies Record<string, TableFacts>;

/** The tables that only partitioned tables need. */
const OF_PARTITIONS = {
  correlation: { sagaId: 'saga_id', removedBy: 'deletion' },
  partitioning: {},
} as const satisfies Record<string, TableFacts>;

export const SAGA_TABLES: readonly string[] = Object.keys(OF_SAGAS);
export const MESSAGING_TABLES: readonly string[] = Object.keys(OF_MESSAGES);
export const PARTITIONING_TABLES: readonly string[] = Object.keys(OF_PARTITIONS);

/** All tables of this package. A table that is in the schema and not here fails test/sagas/retention/table-facts.spec.ts. */
export const TABLES: Readonly<Record<string, TableFacts>> = { ...OF_SAGAS, ...OF_MESSAGES, ...OF_PARTITIONS };

/** The tables that are partitioned, with the column that has the saga's id, and the fill factor of their pages. */
export const PARTITIONED = Object.entries<TableFacts>(OF_SAGAS).flatMap(([table, { sagaId, fillfactor }]) =>
  sagaId !== undefined && fillfactor !== undefined ? [{ table, key: sagaId, fillfactor }] : [],
);

/** The tables whose rows are deleted with their saga, before its own row. */
export const BELONGINGS = Object.entries<TableFacts>(OF_SAGAS)
  .filter(([table, { removedBy }]) => removedBy === 'deletion' && table !== 'instance')
  .map(([table]) => table);
