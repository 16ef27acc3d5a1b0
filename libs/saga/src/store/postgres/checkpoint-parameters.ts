import { SAGA_ARGUMENTS, STEP_ARGUMENTS } from './functions/checkpoint.function.js';
import type { Checkpoint } from '../../engine/saga-store.js';
import {
  awaitsSignal,
  isSettled,
  isTerminal,
  type SagaState,
  type StepState,
  stepState,
} from '../../machine/saga-state.js';

/** The arrays of checkpoint.function.ts: one a column, first of the sagas, then of the steps that changed. */
export function checkpointParameters(checkpoints: readonly Checkpoint[]): unknown[][] {
  const steps = checkpoints.flatMap((checkpoint) =>
    checkpoint.changed.map((name) => stepRow(checkpoint, name)),
  );
  return [...columnsOf(checkpoints.map(sagaRow), SAGA_ARGUMENTS), ...columnsOf(steps, STEP_ARGUMENTS)];
}

/** The scalars of the same function for one saga of which one step changed; undefined when it is not so. */
export function checkpointOneParameters(checkpoints: readonly Checkpoint[]): unknown[] | undefined {
  const [checkpoint] = checkpoints;
  if (checkpoints.length !== 1 || checkpoint!.changed.length !== 1) return undefined;
  return [...sagaRow(checkpoint!), ...stepRow(checkpoint!, checkpoint!.changed[0]!)];
}

function columnsOf(rows: readonly unknown[][], count: number): unknown[][] {
  return Array.from({ length: count }, (_, column) => rows.map((row) => row[column] ?? null));
}

function sagaRow({
  id,
  epoch,
  number,
  state,
  step,
  advances,
  cancelSeen,
  pauseSeen,
  release,
  changed,
}: Checkpoint): unknown[] {
  const settled = isSettled(state.status);
  return [
    id,
    epoch,
    number,
    state.status,
    state.stuckIn,
    state.failure && JSON.stringify(state.failure),
    step,
    lastError(changed.map((name) => stepState(state, name))) ?? state.failure?.error?.message,
    advances,
    cancelSeen,
    pauseSeen,
    release !== undefined,
    settled || state.status === 'paused' ? undefined : release?.dueAt,
    isTerminal(state.status),
    settled,
    sagaProgress(state),
  ];
}

function stepRow({ id, state, elapsed }: Checkpoint, name: string): unknown[] {
  const step = stepState(state, name);
  return [
    id,
    name,
    step.status,
    step.attempts,
    step.failures,
    step.unknown,
    step.compensationAttempts,
    step.compensationFailures,
    step.retryAt,
    step.result,
    step.errors.length > 0 ? JSON.stringify(step.errors) : undefined,
    elapsed?.get(name),
    stepProgress(step),
  ];
}

/** What only sagas that were rolled back to a savepoint have, and those with signals; null, and no cost, for the others. */
function sagaProgress({ round, rollbackTo, heard, steps }: SagaState): string | undefined {
  const awaits = [...steps.values()].flatMap((step) => (awaitsSignal(step) ? [step.wait!.signal] : []));
  const isPlain = round === 1 && rollbackTo === undefined && heard === undefined && awaits.length === 0;
  if (isPlain) return undefined;
  return JSON.stringify({ round, rollbackTo, heard, ...(awaits.length > 0 && { awaits }) });
}

/** What only steps of forks, fan-outs and savepoints, those with a rate limit, and sub-sagas have. */
function stepProgress(step: StepState): string | undefined {
  const { round, returns, items, wonBy, permit, cut, child, wait } = step;
  const isPlain = round === 1 && returns === 0 && items === undefined && wonBy === undefined && !cut;
  if (isPlain && permit === undefined && child === undefined && wait === undefined) return undefined;
  return JSON.stringify({ round, returns, items, wonBy, permit, cut, child, wait });
}

/** What the row shows as its error: that of the attempt that just failed, if one did. */
function lastError(changed: StepState[]): string | undefined {
  return changed.find((step) => isFailing(step))?.errors.at(-1)?.message;
}

function isFailing({ status, errors }: StepState): boolean {
  return errors.length > 0 && status !== 'completed' && status !== 'compensated' && status !== 'skipped';
}
