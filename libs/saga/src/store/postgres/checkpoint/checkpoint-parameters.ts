import { type Checkpoint, writtenSteps } from '../../../engine/ports/checkpoint.js';
import {
  isInProgress,
  isSettled,
  isTerminal,
  type StepState,
  stepState,
} from '../../../machine/saga-state.js';
import { awaitedSignals } from '../../../machine/waits.js';
import type { FailedAttempt } from '../../../machine/failed-attempt.js';
import { arrayLiteral, type Scalar } from './array-literal.js';
import { type ColumnValues, columnArrays, columnScalars } from './column-values.js';
import { errorsToJson } from './errors-json.js';
import { notesToJson } from './notes-json.js';
import type { SAGA_COLUMNS } from '../schema/functions/checkpoint.function.js';
import { STEP_COLUMNS, STEP_PROGRESS } from '../schema/step-row.js';

/** A step, or item, that a checkpoint changed. */
interface ChangedStep {
  readonly checkpoint: Checkpoint;
  readonly name: string;
  readonly step: StepState;
}

/** False, 0 and nothing at all are not sent: a column that says nothing of any row is no array. */
const set = (value: boolean): true | undefined => value || undefined;

const SAGA_VALUES: ColumnValues<typeof SAGA_COLUMNS, Checkpoint> = {
  id: ({ id }) => id,
  epoch: ({ epoch }) => epoch,
  number: ({ number }) => number,
  status: ({ state }) => state.status,
  held_phase: ({ state }) => state.heldPhase,
  failure: failureText,
  step: ({ step }) => step,
  error: (checkpoint) => lastError(checkpoint) ?? checkpoint.state.failure?.error?.message,
  stalls: ({ advances }) => set(!advances),
  cancel_seen: ({ cancelSeen }) => set(cancelSeen),
  pause_seen: ({ pauseSeen }) => set(pauseSeen),
  released: ({ release }) => set(release !== undefined),
  due_at: ({ state: { status }, release }) => (isInProgress(status) ? release?.dueAt : undefined),
  terminal: ({ state }) => set(isTerminal(state.status)),
  settled: ({ state }) => set(isSettled(state.status)),
  progress: sagaProgress,
};

/** What is sent of a step's state, column by column. */
const STATE_VALUES = STEP_COLUMNS.map(({ kind, stored }) =>
  kind === 'errors' ? errorsText : (stored as (step: StepState) => Scalar),
);

/** The parameters of STEP_PARAMETERS. @param valuesOf returns a parameter: what rows have of a column */
function stepParameters<Parameter>(
  steps: readonly ChangedStep[],
  valuesOf: <Row>(rows: readonly Row[], valueOf: (row: Row) => Scalar) => Parameter,
): Parameter[] {
  const states = steps.map(({ step }) => step);
  return [
    valuesOf(steps, ({ checkpoint }) => checkpoint.id),
    valuesOf(steps, ({ name }) => name),
    ...STATE_VALUES.map((valueOf) => valuesOf(states, valueOf)),
    valuesOf(steps, ({ checkpoint, name }) => checkpoint.elapsed?.get(name)),
    valuesOf(states, stepProgress),
  ];
}

/** The parameters of checkpoint.function.ts: an array for each column, first of the sagas, then of the steps that changed. */
export function checkpointParameters(checkpoints: readonly Checkpoint[], fresh: boolean): unknown[] {
  const steps: ChangedStep[] = [];
  for (const checkpoint of checkpoints)
    for (const name of writtenSteps(checkpoint)) steps.push(changedStep(checkpoint, name));
  return [...columnArrays(SAGA_VALUES, checkpoints), ...stepParameters(steps, arrayLiteral), fresh];
}

/** The scalars of the same function for one saga of which one step changed; undefined when it is not so. */
export function checkpointOneParameters(
  checkpoints: readonly Checkpoint[],
  fresh: boolean,
): unknown[] | undefined {
  const [checkpoint] = checkpoints;
  if (checkpoints.length !== 1) return undefined;
  const written = writtenSteps(checkpoint!);
  if (written.length !== 1) return undefined;
  const step = changedStep(checkpoint!, written[0]!);
  return [...columnScalars(SAGA_VALUES, checkpoint!), ...stepParameters([step], ofOnlyRow), fresh];
}

function ofOnlyRow<Row>([row]: readonly Row[], valueOf: (row: Row) => Scalar): unknown {
  return valueOf(row!) ?? null;
}

function errorsText({ errors }: StepState): string | undefined {
  return errors.length > 0 ? JSON.stringify(errorsToJson(errors)) : undefined;
}

function changedStep(checkpoint: Checkpoint, name: string): ChangedStep {
  return { checkpoint, name, step: stepState(checkpoint.state, name) };
}

/** Without its error if that of an attempt is the same: the step's row has it, once. */
function failureText({ state: { failure }, failedAttempt }: Checkpoint): string | undefined {
  if (failure === undefined || failedAttempt === undefined) return failure && JSON.stringify(failure);
  const { kind, step, reason } = failure;
  return JSON.stringify({ kind, step, reason, attempt: failedAttempt } satisfies FailedAttempt);
}

/**
 * What only sagas that were rolled back to a savepoint have, those with signals, those whose rollback a pivot has to
 * decide, or has overtaken, those that wait for their rate limit, and those whose steps have notes; null, and no cost, for
 * the others.
 */
function sagaProgress({ state, notes }: Checkpoint): string | undefined {
  const { round, rollbackTo, lastTakenSignals, steps, pendingRollback, overtaken } = state;
  const turn = typeof state.turn === 'object' ? state.turn : undefined;
  const awaits = awaitedSignals(steps);
  const isPlain =
    round === 1 && rollbackTo === undefined && lastTakenSignals === undefined && awaits.length === 0;
  const isLeftAlone = pendingRollback === undefined && overtaken === undefined && turn === undefined;
  if (isPlain && isLeftAlone && notes === undefined) return undefined;
  return JSON.stringify({
    ...(round > 1 && { round }),
    ...{ rollbackTo, lastTakenSignals, pendingRollback, overtaken, turn },
    ...(awaits.length > 0 && { awaits }),
    ...(notes && { notes: notesToJson(notes) }),
  });
}

/** What only few steps have: of forks, fan-outs, savepoints, limits, sub-sagas and waits. Null, and no cost, for the others. */
function stepProgress(step: StepState): string | undefined {
  let progress: Record<string, unknown> | undefined;
  for (const { field, stored } of STEP_PROGRESS) {
    const value = stored(step);
    if (value !== undefined) (progress ??= {})[field] = value;
  }
  return progress && JSON.stringify(progress);
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
