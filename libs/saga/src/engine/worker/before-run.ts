import { nodeOf, type SagaGraph } from '../../definition/graph/saga-graph.js';
import { missingCode } from '../../machine/missing-code.js';
import { KIND } from '../../machine/data/step-kinds.js';
import { stepsOfKinds } from '../../machine/data/step-map.js';
import { isLostAttempt } from '../../machine/predicates.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { cancellation } from '../attempt/attempt-events.js';
import type { LockDeadlock, StoredSaga } from '../ports/stored-saga.js';
import { SagaLockDeadlockError } from '../../errors.js';
import { serializeError } from '../payload/serialize-error.js';
import { lostLeasesOf } from '../ports/live-state.js';
import type { SagaRun } from '../run/saga-run.js';
import { type BoundSaga, DRIFT_MEND } from '../versions/saga-bindings.js';

/**
 * Returns what happened to a saga before its run.
 * @param maxTakeovers a saga that lost its worker more often is stuck
 */
export function eventsBefore(
  saga: StoredSaga,
  graph: SagaGraph,
  maxTakeovers: number,
  now: number,
): SagaEvent[] {
  const events: SagaEvent[] = saga.deadlock ? [deadlocked(saga, saga.deadlock)] : [];
  if (saga.takeovers > 0 || wasInterrupted(saga, graph)) {
    const { takeovers: count, losses } = saga;
    const leases = lostLeasesOf(saga);
    events.push({ type: 'taken-over', count, losses, bound: maxTakeovers, leases, now });
  }
  if (saga.cancelRequested) events.push(cancellation(saga.cancelRequested.reason, now));
  return events;
}

/** True if attempts were in progress. A fan-out itself makes none, and an attempt that a probe is asked about is known. */
function wasInterrupted({ state }: StoredSaga, graph: SagaGraph): boolean {
  return [...stepsOfKinds(state.steps, KIND.running)].some(
    ([key, step]) =>
      step.status === 'running' && step.items === undefined && !isLostAttempt(nodeOf(graph, key), step),
  );
}

/** One that may need what the class does not have is not run. */
export function stopUnlessFit(run: SagaRun, bound: BoundSaga, now: number): void {
  if (bound.gaps.size === 0) return;
  const missing = missingCode(bound, run.state);
  if (missing.length === 0) return;
  run.begin([{ type: 'code-missing', missing, fix: DRIFT_MEND, now }]);
}

/** The saga is to fail, since it would wait for its semantic lock for ever. */
function deadlocked({ id, name }: StoredSaga, { key, holder, held }: LockDeadlock): SagaEvent {
  const { stack: _, ...error } = serializeError(
    new SagaLockDeadlockError(
      `Saga ${id} (${name}) cannot wait for lock '${key}': saga ${holder.id} (${holder.name}) holds it, and waits, ` +
        `directly or through others, for lock '${held.key}' of saga ${held.id} (${held.name}), which waits for this ` +
        `saga. Start sagas that need several locks so that they acquire them in the same order, or start them again.`,
    ),
  );
  return { type: 'deadlocked', error };
}
