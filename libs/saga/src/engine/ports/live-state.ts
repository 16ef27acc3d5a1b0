import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { dueWhenLost } from '../../machine/decide.js';
import { evolve } from '../../machine/evolve.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { isInProgress, type LostLease, type SagaState } from '../../machine/saga-state.js';
import { mapSteps } from '../../machine/step-changes.js';
import { KIND } from '../../machine/data/step-kinds.js';
import type { StoredSaga } from './stored-saga.js';

/** Attempts under these leases began after what was recorded last. One during which the clock was set back ends before it began. */
export function lostLeasesOf({ lostLeases = [], updatedAt }: StoredSaga): LostLease[] {
  return lostLeases.map(({ from, ...lease }) => {
    const until = Math.max(from, lease.until);
    return { ...lease, from: Math.min(Math.max(from, updatedAt), until), until };
  });
}

/**
 * The state of a saga that a worker holds, with what no checkpoint has recorded yet: the attempts that were lost with the
 * workers before, and those in progress. Both are derived, as a worker that takes over derives them.
 */
export function liveState(saga: StoredSaga, graph: SagaGraph, now: number): SagaState {
  const { state, lockedBy, takeovers: count } = saga;
  if (lockedBy === undefined || !isInProgress(state.status)) return state;
  const leases = lostLeasesOf(saga);
  const taken: SagaEvent = {
    type: 'taken-over',
    ...{ count, bound: Infinity, leases, now: leases.at(-1)?.takenOver ?? now },
  };
  const since = withRecorded(count > 0 ? evolve(graph, state, taken) : state);
  return dueWhenLost(graph, since, now)
    .flatMap(({ kind, key }) => begun(kind, key))
    .reduce((next, event) => evolve(graph, next, event), since);
}

/** What is recorded as running is in progress, or is asked about. */
function withRecorded(state: SagaState): SagaState {
  return mapSteps(state, KIND.running, (step) =>
    step.status === 'running' && step.items === undefined ? { ...step, active: true } : step,
  );
}

function begun(kind: string, step: string): SagaEvent[] {
  if (kind === 'run') return [{ type: 'step-started', step }];
  return kind === 'compensate' ? [{ type: 'compensation-started', step }] : [];
}

/** When an attempt in progress began, at the earliest: the start of an at-most-once step is recorded. */
export function runningSince(saga: StoredSaga, key: string): number {
  const { state, leasedAt, updatedAt, createdAt, stepTimes } = saga;
  const recorded = state.steps.get(key)?.status === 'running' ? stepTimes.get(key) : undefined;
  return recorded?.updatedAt ?? Math.max(leasedAt ?? createdAt, updatedAt);
}

/** No worker has begun with it, as far as is recorded. */
export function isUntouched({
  state,
  checkpoints,
  takeovers,
}: Pick<StoredSaga, 'state' | 'checkpoints' | 'takeovers'>): boolean {
  return checkpoints === 0 && takeovers === 0 && state.status === 'running' && state.steps.size === 0;
}

/**
 * The graph of the process that runs it is the one that counts for it: no worker has begun with it, or is about to, and it
 * keeps no other graph.
 */
export function adoptsGraph(
  saga: Pick<StoredSaga, 'state' | 'checkpoints' | 'takeovers' | 'lockedBy' | 'graphRevision'>,
): boolean {
  return isUntouched(saga) && saga.lockedBy === undefined && saga.graphRevision === undefined;
}
