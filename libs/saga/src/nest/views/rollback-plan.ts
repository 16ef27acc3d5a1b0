import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { decodePayload } from '../../engine/payload/payload.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { type PlannedCompensation, planRollback } from '../../machine/plan-rollback.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';

/** A compensation that would run, with its arguments. */
export interface RollbackPlanStep {
  /** The step's name. */
  readonly step: string;
  /** The compensation method. Absent if `subSaga` compensates the step. */
  readonly compensate?: string;
  /** The result of the step. Undefined also if its outcome is unknown. */
  readonly result: unknown;
  /** Whether the outcome of the step is unknown. */
  readonly unknown: boolean;
  /** The index of the item, in a step with `forEach`. */
  readonly index?: number;
  /** The item in its stored form. */
  readonly item?: unknown;
  /** The saga that would be cancelled or undone, with its own plan, in a sub-saga step. */
  readonly subSaga?: RollbackPlan & { readonly id: string };
}

/** The compensations that cancelling or undoing a saga would run in its current state. */
export interface RollbackPlan {
  /** The compensations in order. Compensations that can run concurrently begin in this order. */
  readonly compensations: readonly RollbackPlanStep[];
  /** The steps that took effect, or may have, and have no compensation. Their effects stay. */
  readonly withoutCompensation: readonly string[];
  /** The steps that may be running now. A step that still completes is compensated as well. */
  readonly inProgress: readonly string[];
  /** The pivot that the saga has passed. Nothing would be compensated. */
  readonly pivot?: string;
  /**
   * The pivot whose outcome is not known: an attempt of it may be in progress. If it completes, nothing is compensated.
   * The plan applies if it fails.
   */
  readonly undecided?: string;
}

/** @param planOf the plan of another saga, by its id */
export async function toRollbackPlan(
  graph: SagaGraph,
  { state }: StoredSaga,
  planOf: (id: string) => Promise<RollbackPlan>,
): Promise<RollbackPlan> {
  const { compensations, kept, inProgress, pivot, undecided } = planRollback(graph, state);
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
    inProgress,
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
