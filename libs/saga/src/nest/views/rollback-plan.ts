import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { decodePayload } from '../../engine/payload/payload.js';
import type { StoredSaga } from '../../engine/ports/saga-store.js';
import { type PlannedCompensation, planRollback } from '../../machine/plan-rollback.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';

/** A compensation that would run, with what it would be given. */
export interface RollbackPlanStep {
  /** The step's name. */
  readonly step: string;
  /** The method that undoes it; absent: `subSaga` does. */
  readonly compensate?: string;
  /** What the step returned; undefined also when its outcome is unknown. */
  readonly result: unknown;
  /** Nobody can say whether the step took effect. */
  readonly unknown: boolean;
  /** Of a fan-out: which item. */
  readonly index?: number;
  /** That item, in its stored form. */
  readonly item?: unknown;
  /** Of a sub-saga step: the saga that would be cancelled, or undone, and what that would do. */
  readonly subSaga?: RollbackPlan & { readonly id: string };
}

/** What cancelling (or undoing) a saga would do, from where it stands now. */
export interface RollbackPlan {
  /** In order; what can be undone side by side begins in this order. */
  readonly compensations: readonly RollbackPlanStep[];
  /** Steps that took effect, or may have, and have no compensation: their effect stays. */
  readonly withoutCompensation: readonly string[];
  /** Steps that may be under way right now: those that complete all the same are undone, too. */
  readonly underWay: readonly string[];
  /** The point of no return that lies behind: nothing would be undone. */
  readonly pivot?: string;
  /**
   * The point of no return whose outcome is not known: an attempt of it may be in progress. If it completes, nothing is
   * compensated; the plan is for the case that it fails.
   */
  readonly undecided?: string;
}

/** @param planOf the plan of another saga, by its id */
export async function toRollbackPlan(
  graph: SagaGraph,
  { state }: StoredSaga,
  planOf: (id: string) => Promise<RollbackPlan>,
): Promise<RollbackPlan> {
  const { compensations, kept, underWay, pivot, undecided } = planRollback(graph, state);
  const steps: RollbackPlanStep[] = [];
  for (const planned of compensations) {
    const { child } = planned;
    steps.push({
      ...toPlanStep(planned, state),
      ...(child === undefined
        ? { compensate: planned.node.compensate! }
        : { subSaga: { id: child, ...(await planOf(child)) } }),
    });
  }
  return {
    compensations: steps,
    withoutCompensation: kept,
    underWay,
    ...(pivot !== undefined && { pivot }),
    ...(undecided !== undefined && { undecided }),
  };
}

function toPlanStep({ node, key, index }: PlannedCompensation, state: SagaState): RollbackPlanStep {
  const { result, unknown } = stepState(state, key);
  const item =
    index === undefined ? {} : { index, item: decodePayload(stepState(state, node.name).items![index]) };
  return { step: node.name, result: decodePayload(result), unknown, ...item };
}
