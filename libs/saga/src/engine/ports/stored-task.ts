import { approvalSignal } from '../../definition/graph/saga-graph.js';
import { type OpenApproval, openApprovals } from '../../machine/open-approvals.js';
import type { WaitState } from '../../machine/saga-state.js';
import type { StoredSaga } from './stored-saga.js';

/** A step that waits for an operator's decision, with what is shown of its saga. Times are milliseconds since the epoch. */
export interface StoredTask
  extends
    OpenApproval,
    Readonly<Pick<StoredSaga, 'id' | 'name' | 'version' | 'correlationId' | 'tags' | 'operations'>>,
    Pick<WaitState, 'until' | 'quorum'> {}

/** The order of tasks: the oldest first. */
export type TaskPlace = Pick<StoredTask, 'since' | 'id' | 'step'>;

export interface StoreTaskFilter {
  /** The name of the saga. */
  readonly name?: string;
  readonly step?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Tasks after this place only. */
  readonly after?: TaskPlace;
  readonly limit: number;
}

/** Below 0: `one` comes before `other`. */
export function compareTasks(one: TaskPlace, other: TaskPlace): number {
  if (one.since !== other.since) return one.since - other.since;
  if (one.id !== other.id) return one.id < other.id ? -1 : 1;
  return one.step === other.step ? 0 : one.step < other.step ? -1 : 1;
}

/**
 * The tasks of a saga: the steps that wait for a decision, and have none that the saga has not taken yet.
 * @param open default: as its state says it
 */
export function tasksOf(
  saga: StoredSaga,
  open: readonly OpenApproval[] = openApprovals(saga.state),
): StoredTask[] {
  const { id, name, version, correlationId, tags, state, signals, operations } = saga;
  const undecided = open.filter(
    ({ step }) => !signals?.some((signal) => signal.name === approvalSignal(step)),
  );
  return undecided.map((one) => {
    const { until, quorum } = state.steps.get(one.step)?.wait ?? {};
    return { ...one, id, name, version, correlationId, tags, until, quorum, operations };
  });
}
