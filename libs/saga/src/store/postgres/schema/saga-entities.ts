import type { EntitySchema } from '../typeorm/typeorm-types.js';
import { typeOrm } from '../typeorm/typeorm-package.js';
import type { GraphRecord } from '../../../definition/describe/graph-record.js';
import { STEP_COLUMNS, type StepColumnField, type StepProgressField } from './step-row.js';
import type { LostLease, StepState } from '../../../machine/saga-state.js';
import type { SagaStatus } from '../../../definition/types/saga-status.js';

export const DEFAULT_SCHEMA = 'saga';

/** One saga: one row that says where it stands. Table `instance`. */
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
  /** JSON; SQL NULL: undefined. Encoded, if there is a codec. */
  input!: unknown;
  /** The input that it was started with, if `inputReplaced`. JSON; SQL NULL: undefined. Encoded, if there is a codec. */
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
   * For sagas that were rolled back to a savepoint: the round, and the savepoint. For sagas with signals: by name the
   * number of the last signal taken, and the names that are waited for. For sagas whose rollback waits for a pivot, or
   * was overtaken by one: the cause of the rollback. For sagas with a rate limit: when they may begin. For sagas that roll back or retry: by the step's name, what has
   * changed of the step since its row was written.
   */
  progress!: {
    round?: number;
    rollbackTo?: string;
    lastTakenSignals?: Record<string, number>;
    awaits?: string[];
    pendingRollback?: object;
    overtaken?: object;
    turn?: object;
    notes?: object;
  } | null;
  /** No going forward past it. */
  deadlineAt!: Date | null;
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
}

/**
 * One step of one saga, from the first time that something about it was recorded; without what the saga's row notes of it.
 * Table `step`.
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
}

/** The other columns have the values of the step's state. */
export interface SagaStep extends Pick<StepState, Exclude<StepColumnField, 'retryAt' | 'result' | 'errors'>> {
  /** When it is tried again, or its delay is over. */
  retryAt: Date | null;
  /** SQL NULL: it returned nothing. */
  result: unknown;
  /**
   * The last few failed attempts, oldest first. `frames` is the stack without its first line; an error that is the one before
   * it is its attempt and its time only.
   */
  errors: object[] | null;
}

/** The structure of a saga's graph, as it was deployed once. Table `graph`. */
export class SagaGraphRevision {
  /** The saga's. */
  name!: string;
  /** The version of the graph. */
  version!: number;
  /** 1; one more each time that the graph changed and its version did not. */
  revision!: number;
  /** The structure, and what else the code says of the saga. */
  graph!: GraphRecord;
  /** When it was first deployed. */
  storedAt!: Date;
}

/**
 * The entities for a schema. They are never synchronized: their tables, with indexes that TypeORM cannot
 * express, belong to the migrations.
 */
export function sagaEntities(
  schema: string = DEFAULT_SCHEMA,
): [EntitySchema<SagaInstance>, EntitySchema<SagaStep>, EntitySchema<SagaGraphRevision>] {
  const { EntitySchema } = typeOrm('sagaEntities()');
  const time = { type: 'timestamptz', precision: 6 } as const;
  return [
    new EntitySchema<SagaInstance>({
      name: 'SagaInstance',
      target: SagaInstance,
      schema,
      tableName: 'instance',
      synchronize: false,
      columns: {
        id: { type: 'uuid', primary: true },
        name: { type: 'text' },
        version: { type: 'int' },
        graphRevision: { name: 'graph_revision', type: 'smallint', nullable: true },
        correlationId: { name: 'correlation_id', type: 'text', nullable: true },
        status: { type: 'text' },
        idleStatus: { name: 'idle_status', type: 'text', nullable: true },
        step: { type: 'text' },
        error: { type: 'text', nullable: true },
        input: { type: 'json', nullable: true },
        startedInput: { name: 'started_input', type: 'json', nullable: true },
        inputReplaced: { name: 'input_replaced', type: 'boolean' },
        tags: { type: 'jsonb', nullable: true },
        priority: { type: 'smallint' },
        failure: { type: 'json', nullable: true },
        heldPhase: { name: 'held_phase', type: 'text', nullable: true },
        progress: { type: 'json', nullable: true },
        deadlineAt: { ...time, name: 'deadline_at', nullable: true },
        epoch: { type: 'int' },
        checkpoints: { type: 'int' },
        lockedBy: { name: 'locked_by', type: 'text', nullable: true },
        leasedAt: { ...time, name: 'leased_at', nullable: true },
        lostLeases: { name: 'lost_leases', type: 'jsonb', nullable: true },
        reports: { type: 'json', nullable: true },
        dueAt: { ...time, name: 'due_at', nullable: true },
        rankAt: { ...time, name: 'rank_at', nullable: true },
        takeovers: { type: 'smallint' },
        losses: { type: 'smallint' },
        cancelRequestedAt: { ...time, name: 'cancel_requested_at', nullable: true },
        cancelReason: { name: 'cancel_reason', type: 'text', nullable: true },
        watched: { type: 'boolean' },
        lockKey: { name: 'lock_key', type: 'text', nullable: true },
        limitKey: { name: 'limit_key', type: 'text', nullable: true },
        lockState: { name: 'lock_state', type: 'text', nullable: true },
        lockPosition: { name: 'lock_position', type: 'bigint', nullable: true },
        lockTimeout: { name: 'lock_timeout', type: 'float8', nullable: true },
        lockDeadlock: { name: 'lock_deadlock', type: 'json', nullable: true },
        parentId: { name: 'parent_id', type: 'uuid', nullable: true },
        parentStep: { name: 'parent_step', type: 'text', nullable: true },
        woken: { type: 'boolean' },
        signals: { type: 'int' },
        createdAt: { ...time, name: 'created_at' },
        updatedAt: { ...time, name: 'updated_at' },
        finishedAt: { ...time, name: 'finished_at', nullable: true },
      },
    }),
    new EntitySchema<SagaStep>({
      name: 'SagaStep',
      target: SagaStep,
      schema,
      tableName: 'step',
      synchronize: false,
      columns: {
        sagaId: { name: 'saga_id', type: 'uuid', primary: true },
        name: { type: 'text', primary: true },
        ...stepColumns(),
        progress: { type: 'json', nullable: true },
        startedAt: { ...time, name: 'started_at' },
        updatedAt: { ...time, name: 'updated_at' },
      },
    }),
    new EntitySchema<SagaGraphRevision>({
      name: 'SagaGraphRevision',
      target: SagaGraphRevision,
      schema,
      tableName: 'graph',
      synchronize: false,
      columns: {
        name: { type: 'text', primary: true },
        version: { type: 'int', primary: true },
        revision: { type: 'smallint', primary: true },
        graph: { type: 'json' },
        storedAt: { ...time, name: 'stored_at', default: () => 'now()' },
      },
    }),
  ];
}

function stepColumns() {
  const columns = STEP_COLUMNS.map(({ field, name, type, constraint }) => [
    field,
    {
      ...{ name: name.replaceAll('"', ''), type, nullable: constraint === '' },
      ...(type === 'timestamptz' && { precision: 6 }),
    },
  ]);
  return Object.fromEntries(columns) as Record<StepColumnField, { type: 'text'; nullable: boolean }>;
}
