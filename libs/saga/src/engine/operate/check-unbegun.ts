import { type SagaGraph, sagaLabel } from '../../definition/graph/saga-graph.js';
import { SagaStateError, SagaValidationError } from '../../errors.js';
import { dueWhenLost } from '../../machine/decide.js';
import { hasBegun } from '../../machine/missing-code.js';
import { isTerminal, stepState } from '../../machine/saga-state.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { withPendingSignals } from './edited.js';

/**
 * Refuses a cancellation once this step has begun, or may have. A worker that holds the saga may have begun all that is
 * due, and begins what is due until it renews its lease, and learns of the cancellation. A step that was skipped, or is to
 * happen again after a return to a savepoint, has not begun.
 * @throws SagaStateError if the step has begun, or may have
 * @throws SagaValidationError if the saga has no such step
 */
export function checkUnbegun(
  saga: StoredSaga,
  graph: SagaGraph | undefined,
  now: number,
  step: string,
): void {
  const { state } = saga;
  // What has ended is refused by the cancellation itself.
  if (isTerminal(state.status)) return;
  if (!graph) {
    throw new SagaStateError(
      `Saga ${saga.id} cannot be cancelled here unless '${step}' has begun: this process does not have ${sagaLabel(saga)}. ` +
        `Cancel it in a process that has it.`,
    );
  }
  if (!graph.steps.has(step)) {
    throw new SagaValidationError(
      `cancel(): unlessBegun is '${step}', and ${sagaLabel(saga)} has no such step. Its steps: ${[...graph.steps.keys()].join(', ')}.`,
    );
  }
  const recorded = stepState(state, step);
  const isSkipped = recorded.status === 'skipped';
  if (!isSkipped && hasBegun(recorded)) {
    throw new SagaStateError(
      `Saga ${saga.id} (${saga.name}) cannot be cancelled: its step '${step}' has begun, and is ${recorded.status}.`,
    );
  }
  if (saga.lockedBy === undefined) return;
  const until = Math.max(now, saga.dueAt ?? now);
  const mayRun = dueWhenLost(graph, withPendingSignals(graph, state, saga, now), until);
  if (!mayRun.some(({ kind, node }) => kind === 'run' && node.name === step)) return;
  throw new SagaStateError(
    `Saga ${saga.id} (${saga.name}) cannot be cancelled: a worker runs it, and may have begun its step '${step}'.`,
  );
}
