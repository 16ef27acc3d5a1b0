import type { StoredTask } from '../../engine/ports/stored-task.js';
import { approvalsOf } from '../../engine/operate/approvals.js';
import { toDate } from './waiting-for.js';

/** A step that waits for an operator's decision, as `SagaService.tasks()` returns it. */
export interface ApprovalTask {
  /** The id of the saga, a UUID. */
  readonly id: string;
  /** The saga's name. */
  readonly saga: string;
  /** The version of its graph. */
  readonly version: number;
  /** The correlation id, or the id of the saga if it was started without one. */
  readonly correlationId: string;
  /** The tags of the saga. */
  readonly tags: Readonly<Record<string, string>>;
  /** The step to approve or reject. */
  readonly step: string;
  /** The time since when the step waits. */
  readonly since: Date;
  /** The end of the wait: the step's timeout. Absent if the step waits without a limit. */
  readonly until?: Date;
  /** The number of operators who have to approve it. */
  readonly quorum: number;
  /** The approvals so far, in their order: fewer than `quorum`. */
  readonly approvals: readonly TaskApproval[];
}

/** An approval of a step that requires more of them. */
export interface TaskApproval {
  /** The operator who approved. */
  readonly by: string;
  /** The comment, if the operator gave one. */
  readonly comment?: string;
  /** The time of the approval. */
  readonly at: Date;
}

export function toApprovalTask(task: StoredTask): ApprovalTask {
  const { id, name, version, correlationId = id, tags = {}, step, quorum = 1 } = task;
  return {
    ...{ id, saga: name, version, correlationId, tags, step },
    since: new Date(task.since),
    until: toDate(task.until),
    quorum,
    approvals: approvalsOf(task, step).map((one) => ({ ...one, at: new Date(one.at) })),
  };
}
