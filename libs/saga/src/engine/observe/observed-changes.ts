import { errorOf } from '../../machine/attempt-errors.js';
import type { ObservedEvent, ObservedEventType } from '../../definition/types/observed-event.js';
import { indexOfKey, stepOfKey } from '../../definition/graph/saga-graph.js';
import { APPROVAL_PREFIX } from '../../definition/options/signal-name.js';
import type { AttemptError, SerializedError } from '../../definition/types/saga-failure.js';
import { needsOperator, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import { NEEDS_ATTENTION, type SagaStatus } from '../../definition/types/saga-status.js';
import { changedSteps } from '../../machine/data/step-map.js';
import { permanentlyFailed } from '../operate/operator-edits.js';
import type { StoredSaga } from '../ports/stored-saga.js';

/** What an event says of its saga. */
export type NamedSaga = Pick<StoredSaga, 'id' | 'name' | 'version' | 'correlationId' | 'tags'>;
/** What may be measured of it, too. */
export type ObservedSaga = NamedSaga & Pick<StoredSaga, 'createdAt' | 'input'>;

type Details<T extends ObservedEventType> = Omit<ObservedEvent<T>, keyof ReturnType<typeof headOf> | 'type'>;

/** What every event of this saga begins with. */
export function headOf(
  { id, name, version, correlationId, tags }: NamedSaga,
  status: SagaStatus,
  at: number,
) {
  return {
    saga: name,
    version,
    id,
    correlationId: correlationId ?? id,
    tags: tags ?? {},
    at: new Date(at),
    status,
  };
}

/**
 * Returns the events between two states that were stored one after the other: first that the saga continues, then its
 * steps, then what that means for the saga. The two states are enough, so that nothing is kept for it. Checkpoints,
 * transactions and operator actions are reported in the same way.
 */
export function observedChanges(
  saga: NamedSaga,
  before: SagaState,
  after: SagaState,
  at: number,
): ObservedEvent[] {
  if (before === after) return [];
  const head = headOf(saga, after.status, at);
  const told: ObservedEvent[] = [];
  const tell = <T extends ObservedEventType>(type: T, details: Details<T>) =>
    told.push({ type, ...head, ...details } as unknown as ObservedEvent);
  const changed = changedSteps(before.steps, after.steps);
  // A fan-out is done once its items are.
  changed.sort(([a], [b]) => Number(indexOfKey(a) === undefined) - Number(indexOfKey(b) === undefined));

  const goesOn = goingOn(before, after, changed);
  if (goesOn) tell(goesOn, {});
  if (after.round > before.round) tell('rolled-back', { round: after.round });
  for (const [key, step] of changed)
    told.push(...stepChanges(head, key, before.steps.get(key) ?? PENDING, step));
  const { status, failure, rollbackTo: savepoint } = after;
  if (turnsBack(before, after))
    tell('compensating', { failure: failure!, ...(savepoint !== undefined && { savepoint }) });
  if (status === before.status) return told;
  if (status === 'completed' || status === 'paused') tell(status, {});
  else if (status === 'compensated' || status === 'aborted') tell(status, { failure });
  else if (needsOperator(status)) tell(status, needOf(after));
  return told;
}

type ChangedStep = readonly [key: string, step: StepState];

/** What let it go on, if it stood still before. */
function goingOn(before: SagaState, after: SagaState, changed: readonly ChangedStep[]) {
  if (!NEEDS_ATTENTION.includes(before.status) || after.status !== (before.heldPhase ?? 'running'))
    return undefined;
  // What was done manually is not tried again.
  const isManual = changed.some(([, { status }]) => status === 'completed' || status === 'compensated');
  return before.status === 'paused' || isManual ? 'resumed' : 'retried';
}

/** Whether the saga rolls back from here on, or farther than it did. */
function turnsBack(before: SagaState, after: SagaState): boolean {
  if (!goesBack(after) || after.failure === undefined) return false;
  return !goesBack(before) || (before.rollbackTo !== undefined && before.rollbackTo !== after.rollbackTo);
}

function goesBack({ status, heldPhase }: SagaState): boolean {
  return status === 'compensating' || status === 'compensated' || heldPhase === 'compensating';
}

function stepChanges(
  head: ReturnType<typeof headOf>,
  key: string,
  before: StepState,
  after: StepState,
): ObservedEvent[] {
  const index = indexOfKey(key);
  const which = { ...head, step: stepOfKey(key), ...(index !== undefined && { index }) };
  const told: ObservedEvent[] = after.errors
    .filter((error) => !before.errors.includes(error))
    .map((error) => ({ ...which, ...failureOf(error, after) }));
  if (isAwaited(after) && !isAwaited(before)) told.push({ ...which, ...waitOf(after) });
  if (after.status === before.status) return told;
  const { attempts: attempt, compensationAttempts } = after;
  if (after.status === 'completed') told.push({ type: 'step-completed', ...which, attempt });
  if (after.status === 'skipped') told.push({ type: 'step-skipped', ...which, attempt });
  if (after.status === 'compensated')
    told.push({ type: 'step-compensated', ...which, attempt: compensationAttempts });
  return told;
}

function failureOf(failed: AttemptError, { retryAt, status }: StepState) {
  const { attempt, during } = failed;
  const type = during === 'step' ? ('step-failed' as const) : ('compensation-failed' as const);
  const again = retryAt !== undefined && status === (during === 'step' ? 'waiting' : 'compensating');
  return { type, attempt, error: errorOf(failed), ...(again && { retryAt: new Date(retryAt) }) };
}

function isAwaited({ status, wait }: StepState): boolean {
  return status === 'waiting' && wait !== undefined && wait.takenSignal === undefined;
}

function waitOf({ wait, attempts: attempt }: StepState) {
  const { signal, until } = wait!;
  return {
    type: 'step-waiting' as const,
    attempt,
    ...(!signal.startsWith(APPROVAL_PREFIX) && { signal }),
    ...(until !== undefined && { until: new Date(until) }),
  };
}

/** What an operator needs to know first. */
function needOf(state: SagaState): Details<'stuck'> {
  const keys = permanentlyFailed({ state }, undefined);
  const error = latestError(state, keys);
  return {
    steps: [...new Set(keys.map(stepOfKey))],
    ...(state.failure && { failure: state.failure }),
    ...(error && { error }),
  };
}

/** The latest of the errors that these steps, or items, stopped with. */
export function latestError(state: SagaState, keys: readonly string[]): SerializedError | undefined {
  const errors = keys.flatMap((key) => state.steps.get(key)?.errors.at(-1) ?? []);
  const last = errors.reduce<AttemptError | undefined>((a, b) => (a && a.at >= b.at ? a : b), undefined);
  return last ? errorOf(last) : state.failure?.error;
}
