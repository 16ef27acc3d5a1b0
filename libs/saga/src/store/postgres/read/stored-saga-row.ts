import type { SagaFailure } from '../../../definition/types/saga-failure.js';
import type { LockDeadlock, StoredSaga, StoredSignal } from '../../../engine/ports/stored-saga.js';
import { type FailedAttempt, failureOf } from '../../../machine/attempt-errors.js';
import {
  INITIAL,
  PENDING,
  SagaState,
  STATE_PROGRESS,
  type StateProgressField,
  StepState,
} from '../../../machine/saga-state.js';
import { StepMapBuilder } from '../../../machine/data/step-map.js';
import { type StepNote, type StepNotes, withNote } from '../../../machine/step-notes.js';
import type { Parts } from '../../../shared/parts.js';
import { type ErrorsJson, errorsOfJson } from '../checkpoint/errors-json.js';
import { type NotesJson, notesOfJson } from '../checkpoint/notes-json.js';
import type { StoredOperation } from '../../../engine/ports/operation.js';
import type { SagaFields, StoredField } from '../schema/saga-row.js';
import { type Nullable, withoutNulls } from './without-nulls.js';
import {
  STEP_COLUMNS,
  STEP_PROGRESS,
  type StepColumnField,
  type StepInMaking,
  type StepProgressField,
} from '../schema/step-row.js';

/** What stored-saga.sql.ts gives. */
export interface StoredSagaRow
  extends Omit<SagaFields<StoredField>, 'failure' | 'progress'>, Partial<LoadedAlone> {
  /** With the number of an attempt: without its error, which is the error of that. */
  readonly failure: SagaFailure | FailedAttempt | null;
  readonly progress: (Partial<Pick<SagaState, StateProgressField>> & { readonly notes?: NotesJson }) | null;
  /** True: what follows is left to statements of its own. */
  readonly inParts: boolean;
  readonly steps: StepJson[] | ReadSteps | null;
  readonly signals: SignalJson[] | null;
}

/** Only in the row of a saga that is loaded by itself. */
interface LoadedAlone extends SagaFields<'limitKey' | 'inputReplaced' | 'startedInput'> {
  readonly lockHolder: string | null;
  readonly slotsTaken: number | null;
  readonly operations: Nullable<StoredOperation>[] | null;
}

export type SignalJson = Omit<StoredSignal, 'payload'> & { readonly payload: string | null };

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

  constructor(private readonly row: Pick<StoredSagaRow, 'progress' | 'createdAt'>) {
    this.notes = row.progress?.notes && notesOfJson(row.progress.notes);
  }

  add(steps: readonly StepJson[]): void {
    for (const step of steps) {
      const { name, startedAt, updatedAt } = step;
      const note = this.notes?.get(name);
      this.builder.add(name, toStepState(step, note));
      this.times.set(name, { startedAt, updatedAt: note ? this.row.createdAt + note.at : updatedAt });
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
  // Each field by its name: a loop would give objects that V8 keeps as dictionaries.
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    graphRevision: row.graphRevision ?? undefined,
    correlationId: row.correlationId ?? undefined,
    input: row.input ?? undefined,
    startedWith: row.inputReplaced ? { input: row.startedInput ?? undefined } : undefined,
    priority: row.priority,
    tags: row.tags ?? undefined,
    state: toState(row, steps),
    notes,
    epoch: row.epoch,
    checkpoints: row.checkpoints,
    lockedBy: row.lockedBy ?? undefined,
    leasedAt: row.lockedBy === null ? undefined : (row.leasedAt ?? undefined),
    lostLeases: row.takeovers > 0 ? (row.lostLeases ?? undefined) : undefined,
    dueAt: row.dueAt ?? undefined,
    takeovers: row.takeovers,
    losses: row.losses,
    cancelRequested: row.cancelRequestedAt === null ? undefined : { reason: row.cancelReason ?? undefined },
    pauseRequested: row.pauseRequested || undefined,
    reports: row.reports ?? undefined,
    slaAt: row.slaAt ?? undefined,
    overdue: row.overdue || undefined,
    operations: row.operations?.map((json) => withoutNulls(json)),
    lock: toLock(row),
    deadlock: (row.lockDeadlock ?? undefined) as LockDeadlock | undefined,
    parent: row.parentId === null ? undefined : { id: row.parentId, step: row.parentStep! },
    signals: row.signals?.map(toStoredSignal),
    slotsTaken: row.slotsTaken || undefined,
    limitKey: row.limitKey ?? undefined,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    finishedAt: row.finishedAt ?? undefined,
    stepTimes: times,
  } satisfies Parts<StoredSaga>;
}

const PROGRESS = Object.keys(STATE_PROGRESS) as StateProgressField[];

function toState(row: StoredSagaRow, steps: SagaState['steps']): SagaState {
  const state = new SagaState(INITIAL) as { -readonly [Field in keyof SagaState]: unknown };
  state.status = row.status;
  state.heldPhase = row.heldPhase ?? undefined;
  state.failure = toFailure(row.failure, steps);
  state.deadline = row.deadlineAt ?? undefined;
  state.startsAt = row.startsAt ?? undefined;
  state.steps = steps;
  const { progress } = row;
  if (progress) for (const field of PROGRESS) state[field] = progress[field] ?? INITIAL[field];
  return state as SagaState;
}

export function toStoredSignal({ payload, ...signal }: SignalJson): StoredSignal {
  return payload === null ? signal : { ...signal, payload };
}

function toLock({ id, lockKey, lockState, lockHolder }: StoredSagaRow): StoredSaga['lock'] {
  if (lockState === null) return undefined;
  const holder = lockHolder === null || lockHolder === id ? undefined : lockHolder;
  return { key: lockKey!, held: lockState === 'held' || lockState === 'inside', holder };
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
