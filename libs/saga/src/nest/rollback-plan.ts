import type { SagaGraph } from '../definition/saga-graph.js';
import { decodePayload } from '../engine/payload.js';
import type { StoredSaga } from '../engine/saga-store.js';
import { planRollback } from '../machine/plan-rollback.js';
import { stepState } from '../machine/saga-state.js';

/** A compensation that would run, with what it would be given. */
export interface RollbackPlanStep {
  readonly step: string;
  /** The method that undoes it. */
  readonly compensate: string;
  /** What the step returned; undefined also when its outcome is unknown. */
  readonly result: unknown;
  /** Nobody can say whether the step took effect. */
  readonly unknown: boolean;
  /** Of a fan-out: which item. */
  readonly index?: number;
  readonly item?: unknown;
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
}

export function toRollbackPlan(graph: SagaGraph, { state }: StoredSaga): RollbackPlan {
  const { compensations, kept, underWay, pivot } = planRollback(graph, state);
  return {
    compensations: compensations.map(({ node, key, index }) => {
      const { result, unknown } = stepState(state, key);
      const item =
        index === undefined ? {} : { index, item: decodePayload(stepState(state, node.name).items![index]) };
      return {
        step: node.name,
        compensate: node.compensate!,
        result: decodePayload(result),
        unknown,
        ...item,
      };
    }),
    withoutCompensation: kept,
    underWay,
    ...(pivot !== undefined && { pivot }),
  };
}
