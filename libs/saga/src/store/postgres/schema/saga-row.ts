import type { SagaStatus } from '../../../definition/types/saga-status.js';
import type { AttemptError } from '../../../definition/types/saga-failure.js';
import type { LostLease, StepState } from '../../../machine/saga-state.js';
import { columnName, millisecondsOf, type StepColumnField, type StepProgressField } from './step-row.js';

/**
 * One saga: one row that says where it stands. Table `instance`. As an entity of TypeORM (`sagaEntities()`) it is for reading:
 * `SagaService` changes sagas.
 */
export class SagaInstance {
  /** A UUID. */
  id!: string;
  /** The saga's. */
  name!: string;
  /** The version of its graph. */
  version!: number;
  /** The revision of its version's graph that it keeps; null: the newest. */
  graphRevision!: number | null;
  /** Null: the saga's id serves as its correlation id. */
  correlationId!: string | null;
  /** Where it is in its life. */
  status!: SagaStatus;
  /**
   * The saga's status when a worker last gave it back, for indexes; null: `running`, or it has ended. While it is idle, it is its
   * status.
   */
  idleStatus!: SagaStatus | null;
  /** Where it stands: the steps in progress or next; empty when nothing is left to do. */
  step!: string;
  /** The message of the last error, for a look at the row. */
  error!: string | null;
  /** The value that it was started with. Null: `null`, or there was none. Encoded in the table, if there is a codec. */
  input!: unknown;
  /** The input that it was started with, if `inputReplaced`. Encoded in the table, if there is a codec. */
  startedInput!: unknown;
  /** An operator has replaced the input. */
  inputReplaced!: boolean;
  /** As it was started with. */
  tags!: Record<string, string> | null;
  /** 0 to 100, as it was started with. */
  priority!: number;
  /**
   * What made it compensate, or stop. Encoded, if there is a codec. With `attempt`: without its error, which is that of
   * the attempt of the step.
   */
  failure!: object | null;
  /** While stuck: what it was doing, and goes back to on retry. */
  heldPhase!: 'running' | 'compensating' | null;
  /**
   * What few sagas have, and what a page or a query rarely needs: `round`, `rollbackTo`, `lastTakenSignals`, `pendingRollback`,
   * `overtaken` and `turn` of sagas with savepoints, signals, pivots and rate limits; `awaits`, the names of the signals that
   * are waited for; `notes`, by the step's name what has changed of it since its row was written.
   */
  progress!: object | null;
  /** No going forward past it. */
  deadlineAt!: Date | null;
  /** The saga is overdue if it has not finished by then. Null: it has no `sla`. */
  slaAt!: Date | null;
  /** The saga was reported as overdue. */
  overdue!: boolean;
  /** Nothing of the saga begins before this time. Null: the time has come, or there was none. */
  startsAt!: Date | null;
  /** Fencing token: raised by every claim and every operator's edit. */
  epoch!: number;
  /** The number of its last checkpoint. */
  checkpoints!: number;
  /** The worker that holds the lease. */
  lockedBy!: string | null;
  /** When a claim took the lease last. Null: no claim has, the lease is from the start. */
  leasedAt!: Date | null;
  /** The leases that ran out since anything was recorded, if `takeovers` is not 0. */
  lostLeases!: LostLease[] | null;
  /**
   * What its steps in progress have reported: their progress and their last heartbeats. Null: nothing. Encoded, if there
   * is a codec.
   */
  reports!: unknown;
  /** When a worker should look at it: due time, or end of the lease. Null: idle. */
  dueAt!: Date | null;
  /** `dueAt` brought forward by priority; what claims are ordered by. */
  rankAt!: Date | null;
  /** Times that it was taken over from a lost worker since anything was recorded. */
  takeovers!: number;
  /** The takeovers since a step or a wait ended. */
  losses!: number;
  /** When its worker was asked to cancel it. */
  cancelRequestedAt!: Date | null;
  /** Why. Encoded, if there is a codec. */
  cancelReason!: string | null;
  /** An operator has asked its worker to pause it. */
  pauseRequested!: boolean;
  /** A process waits for it: its settling is announced. */
  watched!: boolean;
  /** The key of its semantic lock; null: it has none. */
  lockKey!: string | null;
  /** Stored and not looked at yet, in the queue, active, or active under the lock of an ancestor; null: it has left the queue, or has no lock. */
  lockState!: 'arriving' | 'waiting' | 'held' | 'inside' | null;
  /** The saga's position in the queue of its key: the smaller, the sooner. */
  lockPosition!: string | null;
  /** Milliseconds for going forward, counted from when it gets the lock. */
  lockTimeout!: number | null;
  /** Why it does not get its lock, and is to fail; null: it does. */
  lockDeadlock!: object | null;
  /** The key of its limit, which bounds how many of one key run at once; null: it has none. */
  limitKey!: string | null;
  /** The saga that waits for this one, and the step that started it. */
  parentId!: string | null;
  /** The step that started it. */
  parentStep!: string | null;
  /** A saga that it waits for has ended, or a signal has come, since it was last claimed. */
  woken!: boolean;
  /** How many signals it was sent. */
  signals!: number;
  /** When it was stored. */
  createdAt!: Date;
  /** When it last changed. */
  updatedAt!: Date;
  /** When it ended; null: it has not. */
  finishedAt!: Date | null;
  /** The steps of the saga, of which something has been recorded, if the relation is loaded. Items of a fan-out are steps, too. */
  declare steps?: SagaStep[];
}

/**
 * One step of one saga, from the first time that something about it was recorded. View `step_state`, which is the table `step`
 * with the changes that the row of the saga notes. As an entity of TypeORM (`sagaEntities()`) it is for reading.
 */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- TypeORM sets all properties, those of the class as well
export class SagaStep {
  /** The id of its saga. */
  sagaId!: string;
  /** The step's; of an item with its index, as in `ship[3]`. */
  name!: string;
  /** The fields that few steps have: of forks, fan-outs, savepoints, limits, sub-sagas and waits. */
  progress!: Partial<Pick<StepState, StepProgressField>> | null;
  /** When something about it was first recorded. */
  startedAt!: Date;
  /** When something about it was last recorded. */
  updatedAt!: Date;
  /** The saga of the step, if the relation is loaded. */
  declare saga?: SagaInstance;
}

/** The other columns have the values of the step's state. */
export interface SagaStep extends Pick<StepState, Exclude<StepColumnField, 'retryAt' | 'result' | 'errors'>> {
  /** When it is tried again, or its delay is over. */
  retryAt: Date | null;
  /** The value that it returned. Null: `null`, or it returned nothing. Encoded in the table, if there is a codec. */
  result: unknown;
  /** The last few failed attempts, oldest first. Null: none has failed. */
  errors: AttemptError[] | null;
}

/** A column of the table of sagas. */
interface SagaColumn {
  readonly type:
    | 'uuid'
    | 'text'
    | 'int'
    | 'smallint'
    | 'bigint'
    | 'float8'
    | 'boolean'
    | 'timestamptz'
    | 'json'
    | 'jsonb';
  /** What follows the type when the table is created. Undefined: the column may be null. */
  readonly constraint?: string;
  /** Statements that read whole sagas return it. */
  readonly isRead?: true;
  /** A payload is read as JSON text: the driver would parse JSON null and SQL NULL into the same value. */
  readonly isPayload?: true;
  /** The start of a saga stores it as it is given: see start-parameters.ts. */
  readonly isStarted?: true;
  /** Each checkpoint stores it as it is given: see checkpoint-parameters.ts. */
  readonly isCheckpointed?: true;
  /** The application's values, which a codec encodes. */
  readonly isPrivate?: true;
}

const READ = { isRead: true } as const;
const TIME = { type: 'timestamptz' } as const;
const COUNT = { type: 'smallint', constraint: 'NOT NULL DEFAULT 0' } as const;
const FLAG = { type: 'boolean', constraint: 'NOT NULL DEFAULT false' } as const;
const NOW = { type: 'timestamptz', constraint: 'NOT NULL DEFAULT now()' } as const;

/**
 * The columns of the table of sagas, in their order. The table, the entity, the statements that read sagas, and the parameters
 * of starts and checkpoints follow from it.
 *
 * The columns stand by how often they change, and what each checkpoint changes stands together near the end: the WAL of an
 * update is what lies between the first byte that changes and the last one. Behind it is what a saga that rolls back has, and
 * does not change any more.
 */
export const SAGA_COLUMNS = {
  id: { type: 'uuid', constraint: 'PRIMARY KEY', isRead: true, isStarted: true },
  createdAt: { ...NOW, ...READ },
  version: { type: 'int', constraint: 'NOT NULL', isRead: true, isStarted: true },
  graphRevision: { type: 'smallint', isRead: true },
  priority: { ...COUNT, isRead: true, isStarted: true },
  name: { type: 'text', constraint: 'NOT NULL', isRead: true, isStarted: true },
  correlationId: { type: 'text', isRead: true, isStarted: true },
  input: { type: 'json', isPayload: true, isRead: true, isStarted: true, isPrivate: true },
  startedInput: { type: 'json', isPayload: true, isPrivate: true },
  tags: { type: 'jsonb', isRead: true, isStarted: true },
  deadlineAt: { ...TIME, ...READ },
  slaAt: { ...TIME, ...READ },
  startsAt: { ...TIME, ...READ },
  parentId: { type: 'uuid', isRead: true },
  parentStep: { type: 'text', isRead: true },
  lockKey: { type: 'text', isRead: true, isStarted: true },
  lockPosition: { type: 'bigint' },
  lockTimeout: { type: 'float8' },
  lockDeadlock: { type: 'json', isRead: true },
  lockState: { type: 'text', isRead: true },
  limitKey: { type: 'text', isStarted: true },
  cancelRequestedAt: { ...TIME, ...READ },
  cancelReason: { type: 'text', isRead: true, isPrivate: true },
  lostLeases: { type: 'jsonb', isRead: true },
  reports: { type: 'json', isPayload: true, isRead: true, isPrivate: true },
  epoch: { type: 'int', constraint: 'NOT NULL', isRead: true },
  signals: { type: 'int', constraint: 'NOT NULL DEFAULT 0' },
  losses: { ...COUNT, ...READ },
  takeovers: { ...COUNT, ...READ },
  pauseRequested: { ...FLAG, ...READ },
  inputReplaced: FLAG,
  overdue: { ...FLAG, ...READ },
  watched: FLAG,
  woken: FLAG,
  lockedBy: { type: 'text', isRead: true },
  leasedAt: { ...TIME, ...READ },
  dueAt: { ...TIME, ...READ },
  rankAt: TIME,
  idleStatus: { type: 'text' },
  heldPhase: { type: 'text', isRead: true, isCheckpointed: true },
  status: { type: 'text', constraint: 'NOT NULL', isRead: true, isCheckpointed: true },
  updatedAt: { ...NOW, ...READ },
  checkpoints: { type: 'int', constraint: 'NOT NULL DEFAULT 0', isRead: true },
  step: { type: 'text', constraint: 'NOT NULL', isStarted: true, isCheckpointed: true },
  progress: { type: 'json', isRead: true, isCheckpointed: true, isPrivate: true },
  finishedAt: { ...TIME, ...READ },
  error: { type: 'text', isCheckpointed: true, isPrivate: true },
  failure: { type: 'json', isRead: true, isCheckpointed: true, isPrivate: true },
} as const satisfies {
  readonly [Field in SagaField]: SagaColumn &
    (null extends SagaInstance[Field] ? { constraint?: undefined } : { constraint: string });
};

/** The fields that are columns. */
export type SagaField = Exclude<keyof SagaInstance, 'steps'>;
/** The fields that have such a property in `SAGA_COLUMNS`. */
export type SagaFieldWith<Property> = {
  [Field in SagaField]: (typeof SAGA_COLUMNS)[Field] extends Property ? Field : never;
}[SagaField];

/** The columns with their names, in the order of the table. */
export const SAGA_ROW = Object.entries(SAGA_COLUMNS as Record<string, SagaColumn>).map(([field, column]) => ({
  field: field as SagaField,
  name: columnName(field),
  ...column,
}));

/** What is read of fields of a saga's row: times in ms since the epoch, payloads as JSON text. */
export type SagaFields<Field extends SagaField> = { readonly [Name in Field]: ReadValue<SagaInstance[Name]> };
type ReadValue<Value> = [unknown] extends [Value] ? string | null : Value extends Date ? number : Value;

/** These fields of a saga's row, as columns named after them. @param i the alias of the row */
export const sagaFields = (i: string, fields: readonly SagaField[]): string =>
  fields.map((field) => `${readSql(i, field)} AS "${field}"`).join(', ');

/** The columns of `sagaFields`, as a function declares that it returns them. */
export const sagaFieldTypes = (fields: readonly SagaField[]): string =>
  fields.map((field) => `"${field}" ${readType(SAGA_COLUMNS[field])}`).join(', ');

/** The fields of a whole saga. */
export type StoredField = SagaFieldWith<{ readonly isRead: true }>;
export const STORED_FIELDS = SAGA_ROW.flatMap(({ field, isRead }) => (isRead ? [field as StoredField] : []));

function readSql(i: string, field: SagaField): string {
  const { type, isPayload }: SagaColumn = SAGA_COLUMNS[field];
  const column = `${i}.${columnName(field)}`;
  if (type === 'timestamptz') return millisecondsOf(column);
  return isPayload ? `${column}::text` : column;
}

function readType({ type, isPayload }: SagaColumn): string {
  return type === 'timestamptz' ? 'float8' : isPayload ? 'text' : type;
}
