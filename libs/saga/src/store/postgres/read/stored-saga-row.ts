import type { SagaFailure } from '../../../definition/types/saga-failure.js';
import type { LockDeadlock, StoredSaga, StoredSignal } from '../../../engine/ports/stored-saga.js';
import { type ErrorsJson, errorsOfJson } from '../checkpoint/errors-json.js';
import { type NotesJson, notesOfJson } from '../checkpoint/notes-json.js';
import { type OperationJson, toStoredOperation } from '../edit/stored-operation.js';
import { type FailedAttempt, failureOf } from '../../../machine/failed-attempt.js';
import {
  type LostLease,
  PENDING,
  type SagaState,
  type SagaTurn,
  StepState,
} from '../../../machine/saga-state.js';
import {
  STEP_COLUMNS,
  STEP_PROGRESS,
  type StepColumnField,
  type StepInMaking,
  type StepProgressField,
} from '../schema/step-row.js';
import { StepMapBuilder } from '../../../machine/step-map.js';
import { type StepNote, type StepNotes, withNote } from '../../../machine/step-notes.js';
import type { SagaStatus } from '../../../definition/types/saga-status.js';

/** What the columns of stored-saga.sql.ts give. */
export interface StoredSagaRow {
  id: string;
  name: string;
  version: number;
  graph_revision: number | null;
  correlation_id: string | null;
  status: SagaStatus;
  held_phase: 'running' | 'compensating' | null;
  /** With the number of an attempt: without its error, which is the error of that. */
  failure: SagaFailure | FailedAttempt | null;
  progress:
    | (Partial<
        Pick<SagaState, 'round' | 'rollbackTo' | 'lastTakenSignals' | 'pendingRollback' | 'overtaken'>
      > & { notes?: NotesJson; turn?: SagaTurn })
    | null;
  deadline_at: number | null;
  input: string | null;
  priority: number;
  tags: Record<string, string> | null;
  epoch: number;
  checkpoints: number;
  locked_by: string | null;
  leased_at: number | null;
  lost_leases: LostLease[] | null;
  takeovers: number;
  losses: number;
  cancel_requested: boolean;
  cancel_reason: string | null;
  pause_requested: boolean;
  reports: string | null;
  sla_at: number | null;
  starts_at: number | null;
  overdue: boolean;
  lock_key: string | null;
  lock_state: 'arriving' | 'waiting' | 'held' | 'inside' | null;
  /** Only in a row that is read whole. */
  lock_deadlock?: LockDeadlock | null;
  parent_id: string | null;
  parent_step: string | null;
  /** Only in the row of a saga that is loaded by itself. */
  lock_holder?: string | null;
  slots_taken?: number | null;
  limit_key?: string | null;
  operations?: OperationJson[] | null;
  input_replaced?: boolean;
  started_input?: string | null;
  due_at: number | null;
  created_at: number;
  updated_at: number;
  finished_at: number | null;
  /** True: what follows is left to statements of its own. */
  in_parts: boolean;
  steps: StepJson[] | ReadSteps | null;
  signals: SignalJson[] | null;
}

export interface SignalJson {
  number: number;
  name: string;
  messageId: string;
  payload: string | null;
}

type StepTimes = StoredSaga['stepTimes'] extends ReadonlyMap<string, infer Times> ? Times : never;

/** A step as it is read. What is not asked for is missing. */
export type StepJson = {
  readonly name: string;
  readonly errors?: ErrorsJson | null;
  readonly progress: Partial<Pick<StepState, StepProgressField>> | null;
  readonly startedAt: number;
  readonly updatedAt: number;
} & { readonly [Field in Exclude<StepColumnField, 'errors'>]?: StepState[Field] | null };

/** The steps of a saga as they are read, a part at a time: so that those of a large one need no turn of their own. */
export class ReadSteps {
  readonly times = new Map<string, StepTimes>();
  readonly notes: StepNotes | undefined;
  private readonly builder = new StepMapBuilder();
  private built: SagaState['steps'] | undefined;

  constructor(private readonly row: Pick<StoredSagaRow, 'progress' | 'created_at'>) {
    this.notes = row.progress?.notes && notesOfJson(row.progress.notes);
  }

  add(steps: readonly StepJson[]): void {
    for (const step of steps) {
      const { name, startedAt, updatedAt } = step;
      const note = this.notes?.get(name);
      this.builder.add(name, toStepState(step, note));
      this.times.set(name, { startedAt, updatedAt: timeOf(this.row, note) ?? updatedAt });
    }
  }

  get steps(): SagaState['steps'] {
    return (this.built ??= this.builder.build());
  }
}

function readSteps(row: StoredSagaRow, steps: readonly StepJson[]): ReadSteps {
  const read = new ReadSteps(row);
  read.add(steps);
  return read;
}

export function toStoredSaga(row: StoredSagaRow): StoredSaga {
  const { steps, times, notes } =
    row.steps instanceof ReadSteps ? row.steps : readSteps(row, row.steps ?? []);
  const state = toState(row, steps);
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    graphRevision: row.graph_revision ?? undefined,
    correlationId: row.correlation_id ?? undefined,
    input: row.input ?? undefined,
    startedWith: row.input_replaced ? { input: row.started_input ?? undefined } : undefined,
    priority: row.priority,
    tags: row.tags ?? undefined,
    state,
    ...(notes && { notes }),
    epoch: row.epoch,
    checkpoints: row.checkpoints,
    lockedBy: row.locked_by ?? undefined,
    leasedAt: row.locked_by === null ? undefined : (row.leased_at ?? undefined),
    lostLeases: row.takeovers > 0 ? (row.lost_leases ?? undefined) : undefined,
    dueAt: row.due_at ?? undefined,
    takeovers: row.takeovers,
    losses: row.losses,
    cancelRequested: row.cancel_requested ? { reason: row.cancel_reason ?? undefined } : undefined,
    pauseRequested: row.pause_requested || undefined,
    ...(row.reports !== null && { reports: row.reports }),
    slaAt: row.sla_at ?? undefined,
    overdue: row.overdue || undefined,
    operations: row.operations ? row.operations.map(toStoredOperation) : undefined,
    lock: toLock(row),
    deadlock: row.lock_deadlock ?? undefined,
    parent: row.parent_id === null ? undefined : { id: row.parent_id, step: row.parent_step! },
    signals: row.signals ? row.signals.map(toStoredSignal) : undefined,
    slotsTaken: row.slots_taken || undefined,
    ...(row.limit_key && { limitKey: row.limit_key }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    finishedAt: row.finished_at ?? undefined,
    stepTimes: times,
  };
}

function toState(row: StoredSagaRow, steps: SagaState['steps']): SagaState {
  return {
    status: row.status,
    heldPhase: row.held_phase ?? undefined,
    failure: toFailure(row.failure, steps),
    round: row.progress?.round ?? 1,
    rollbackTo: row.progress?.rollbackTo,
    deadline: row.deadline_at ?? undefined,
    lastTakenSignals: row.progress?.lastTakenSignals,
    ...(row.progress?.pendingRollback && { pendingRollback: row.progress.pendingRollback }),
    ...(row.progress?.overtaken && { overtaken: row.progress.overtaken }),
    ...(row.starts_at !== null && { startsAt: row.starts_at }),
    ...(row.progress?.turn && { turn: row.progress.turn }),
    steps,
  };
}

export function toStoredSignal({ payload, ...signal }: SignalJson): StoredSignal {
  return payload === null ? signal : { ...signal, payload };
}

function toLock({ id, lock_key, lock_state, lock_holder }: StoredSagaRow): StoredSaga['lock'] {
  if (lock_state === null) return undefined;
  const holder = lock_holder === null || lock_holder === id ? undefined : lock_holder;
  return { key: lock_key!, held: lock_state === 'held' || lock_state === 'inside', holder };
}

function timeOf(
  { created_at }: Pick<StoredSagaRow, 'created_at'>,
  note: StepNote | undefined,
): number | undefined {
  return note && created_at + note.at;
}

function toFailure(failure: StoredSagaRow['failure'], steps: SagaState['steps']): SagaFailure | undefined {
  if (failure === null) return undefined;
  return 'attempt' in failure ? failureOf(failure, steps) : failure;
}

function toStepState(step: StepJson, note: StepNote | undefined): StepState {
  const state = toRowState(step);
  return note ? withNote(state, note) : state;
}

const NULLABLE = STEP_COLUMNS.filter(({ constraint }) => constraint === '');
/** The fields of `progress` that a step has without it. */
const PRESET = STEP_PROGRESS.filter(({ field }) => PENDING[field] !== undefined);

function toRowState(step: StepJson): StepState {
  // The constructor takes the fields of the columns: a loop over names takes four times as long.
  const state = new StepState(step as object as StepState) as StepInMaking;
  for (const { field } of NULLABLE) state[field] ??= undefined;
  state.errors = step.errors ? errorsOfJson(step.errors) : PENDING.errors;
  state.active = false;
  const { progress } = step;
  for (const { field } of progress ? STEP_PROGRESS : PRESET)
    state[field] = progress?.[field] ?? PENDING[field];
  return state as StepState;
}
