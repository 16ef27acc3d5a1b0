import { type Checkpoint, type StoredMessage, writtenSteps } from '../../../engine/ports/checkpoint.js';
import {
  isInProgress,
  isSettled,
  isTerminal,
  STATE_PROGRESS,
  type StepState,
  stepState,
} from '../../../machine/saga-state.js';
import { awaitedSignals } from '../../../machine/waits.js';
import type { FailedAttempt } from '../../../machine/attempt-errors.js';
import { columnArrays, columnScalars, type RowColumn, type Scalar } from './column-values.js';
import { errorsToJson } from './errors-json.js';
import { notesToJson } from './notes-json.js';
import { SAGA_ROW, type SagaFieldWith } from '../schema/saga-row.js';
import { STEP_COLUMNS, STEP_PROGRESS } from '../schema/step-row.js';

/** A step, or item, that a checkpoint changed. */
interface ChangedStep {
  readonly checkpoint: Checkpoint;
  readonly name: string;
}

/** False, 0 and nothing at all are not sent: a column that says nothing of any row is no array. */
const set = (value: boolean): true | undefined => value || undefined;

/** What a checkpoint stores as it is: see SAGA_COLUMNS. */
const STORED: Record<SagaFieldWith<{ readonly isCheckpointed: true }>, (checkpoint: Checkpoint) => Scalar> = {
  status: ({ state }) => state.status,
  heldPhase: ({ state }) => state.heldPhase,
  failure: failureText,
  step: ({ step }) => step,
  error: (checkpoint) => lastError(checkpoint) ?? checkpoint.state.failure?.error?.message,
  progress: sagaProgress,
};
/** The columns that a checkpoint stores as they are. */
export const CHECKPOINTED = SAGA_ROW.filter(({ isCheckpointed }) => isCheckpointed);

/** What a checkpoint reports of a saga. */
export const SAGA_PARAMETERS: readonly RowColumn<Checkpoint>[] = [
  { name: 'id', type: 'uuid', valueOf: ({ id }) => id },
  { name: 'epoch', type: 'int', valueOf: ({ epoch }) => epoch },
  { name: 'number', type: 'int', valueOf: ({ number }) => number },
  { name: 'stalls', type: 'boolean', valueOf: ({ advances }) => set(!advances) },
  { name: 'cancel_seen', type: 'boolean', valueOf: ({ cancelSeen }) => set(cancelSeen) },
  { name: 'pause_seen', type: 'boolean', valueOf: ({ pauseSeen }) => set(pauseSeen) },
  { name: 'released', type: 'boolean', valueOf: ({ release }) => set(release !== undefined) },
  {
    ...{ name: 'due_at', type: 'float8' },
    valueOf: ({ state: { status }, release }) => (isInProgress(status) ? release?.dueAt : undefined),
  },
  { name: 'terminal', type: 'boolean', valueOf: ({ state }) => set(isTerminal(state.status)) },
  { name: 'settled', type: 'boolean', valueOf: ({ state }) => set(isSettled(state.status)) },
  ...CHECKPOINTED.map(({ field, name, type }) => ({
    name,
    type,
    valueOf: STORED[field as keyof typeof STORED],
  })),
];

const CHANGE_PARAMETERS: readonly RowColumn<ChangedStep>[] = [
  { name: 'saga_id', type: 'uuid', valueOf: ({ checkpoint }) => checkpoint.id },
  { name: 'name', type: 'text', valueOf: ({ name }) => name },
  { name: 'elapsed', type: 'float8', valueOf: ({ checkpoint, name }) => checkpoint.elapsed?.get(name) },
];
const STATE_PARAMETERS: readonly RowColumn<StepState>[] = [
  ...STEP_COLUMNS.map(({ kind, name, parameter: type, stored }) => ({
    ...{ name, type },
    valueOf: kind === 'errors' ? errorsText : (stored as (step: StepState) => Scalar),
  })),
  { name: 'progress', type: 'json', valueOf: stepProgress },
];
/** What a checkpoint reports of a step that changed. */
export const STEP_PARAMETERS: readonly (RowColumn<ChangedStep> | RowColumn<StepState>)[] = [
  ...CHANGE_PARAMETERS,
  ...STATE_PARAMETERS,
];

/** What publish.sql is given of a message. */
export const PUBLISH_PARAMETERS: readonly RowColumn<StoredMessage>[] = [
  { name: 'id', type: 'uuid', valueOf: ({ id }) => id },
  { name: 'topic', type: 'text', valueOf: ({ topic }) => topic },
  { name: 'key', type: 'text', valueOf: ({ key }) => key },
  { name: 'type', type: 'text', valueOf: ({ type }) => type },
  { name: 'payload', type: 'json', valueOf: ({ payload }) => payload },
  { name: 'headers', type: 'jsonb', valueOf: ({ headers }) => JSON.stringify(headers) },
];

/** The parameters of checkpoint.sql: an array for each column, first of the sagas, then of the steps that changed. */
export function checkpointParameters(checkpoints: readonly Checkpoint[], fresh: boolean): unknown[] {
  const steps: ChangedStep[] = [];
  for (const checkpoint of checkpoints)
    for (const name of writtenSteps(checkpoint)) steps.push({ checkpoint, name });
  const states = steps.map(({ checkpoint, name }) => stepState(checkpoint.state, name));
  return [
    ...columnArrays(SAGA_PARAMETERS, checkpoints),
    ...columnArrays(CHANGE_PARAMETERS, steps),
    ...columnArrays(STATE_PARAMETERS, states),
    fresh,
  ];
}

/** The scalars of the same function for one saga of which one step changed; undefined when it is not so. */
export function checkpointOneParameters(
  checkpoints: readonly Checkpoint[],
  fresh: boolean,
): unknown[] | undefined {
  const checkpoint = checkpoints[0]!;
  if (checkpoints.length !== 1) return undefined;
  const written = writtenSteps(checkpoint);
  if (written.length !== 1) return undefined;
  const name = written[0]!;
  return [
    ...columnScalars(SAGA_PARAMETERS, checkpoint),
    ...columnScalars(CHANGE_PARAMETERS, { checkpoint, name }),
    ...columnScalars(STATE_PARAMETERS, stepState(checkpoint.state, name)),
    fresh,
  ];
}

function errorsText({ errors }: StepState): string | undefined {
  return errors.length > 0 ? JSON.stringify(errorsToJson(errors)) : undefined;
}

/** Without its error if that of an attempt is the same: the step's row has it, once. */
function failureText({ state: { failure }, failedAttempt }: Checkpoint): string | undefined {
  if (failure === undefined || failedAttempt === undefined) return failure && JSON.stringify(failure);
  const { kind, step, reason } = failure;
  return JSON.stringify({ kind, step, reason, attempt: failedAttempt } satisfies FailedAttempt);
}

const STATE_FIELDS = Object.entries(STATE_PROGRESS).map(([field, { stored }]) => ({ field, stored }));

/** What few sagas have: see STATE_PROGRESS; the signals that are waited for, and notes. Null, and no cost, for the others. */
function sagaProgress({ state, notes }: Checkpoint): string | undefined {
  const awaits = awaitedSignals(state.steps);
  let progress = progressOf(STATE_FIELDS, state);
  if (awaits.length > 0) (progress ??= {})['awaits'] = awaits;
  if (notes) (progress ??= {})['notes'] = notesToJson(notes);
  return progress && JSON.stringify(progress);
}

/** What only few steps have: of forks, fan-outs, savepoints, limits, sub-sagas and waits. Null, and no cost, for the others. */
function stepProgress(step: StepState): string | undefined {
  const progress = progressOf(STEP_PROGRESS, step);
  return progress && JSON.stringify(progress);
}

/** Undefined: all fields have their first values. */
function progressOf<State>(
  fields: readonly { readonly field: string; readonly stored: (state: State) => unknown }[],
  state: State,
): Record<string, unknown> | undefined {
  let progress: Record<string, unknown> | undefined;
  for (const { field, stored } of fields) {
    const value = stored(state);
    if (value !== undefined) (progress ??= {})[field] = value;
  }
  return progress;
}

/** What the row shows as its error: that of the attempt that just failed, if one did. */
function lastError({ changed, state }: Checkpoint): string | undefined {
  for (const name of changed) {
    const step = stepState(state, name);
    if (isFailing(step)) return step.errors.at(-1)!.message;
  }
  return undefined;
}

function isFailing({ status, errors }: StepState): boolean {
  return errors.length > 0 && status !== 'completed' && status !== 'compensated' && status !== 'skipped';
}

/** The number of arguments of checkpoint.sql; the last one says whether no step of the sagas is stored yet. */
export const CHECKPOINT_ARGUMENTS = SAGA_PARAMETERS.length + STEP_PARAMETERS.length + 1;
