import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { SagaStateError } from '../../libs/saga/src/errors.js';
import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';
import { decisionEdit } from '../../libs/saga/src/engine/operate/approvals.js';
import type { StoredOperation } from '../../libs/saga/src/engine/ports/operation.js';
import type { StoredSignal } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { SAGA } from '../fixtures/run-of.js';
import { APPROVERS } from './random-graph.js';

/** What an operator said of a step with a quorum. `sent`: it decides about the step. `counted`: others have to approve. */
export interface DecidedEntry {
  readonly type: 'decided';
  readonly step: string;
  readonly by: string;
  readonly approved: boolean;
  readonly outcome: 'sent' | 'counted' | 'refused';
}

/** The operators who decide on steps with a quorum, as the engine lets them: by what is stored of the saga. */
export class PlayedApprovals {
  private readonly operations: StoredOperation[] = [];
  private calls = 0;

  constructor(
    private readonly graph: SagaGraph,
    private readonly note: (entry: DecidedEntry) => void,
  ) {}

  /** @returns the payload of the signal that is sent by it, if it decides */
  decide(
    stored: { readonly state: SagaState; readonly signals: readonly StoredSignal[] },
    step: string,
    { by, approved }: { readonly by: string; readonly approved: boolean },
  ): string | undefined {
    const id = `${this.operations.length}`;
    const saga = {
      ...SAGA,
      ...stored,
      operations: this.operations,
    };
    const decision = { approved, by };
    let edit: ReturnType<typeof decisionEdit>;
    try {
      // In time, though no worker may have looked since.
      edit = decisionEdit(saga, this.graph, 0, { step, decision, messageId: id });
    } catch (error) {
      if (!(error instanceof SagaStateError)) throw error;
      this.note({ type: 'decided', step, by, approved, outcome: 'refused' });
      return undefined;
    }
    const proposed = edit !== undefined && 'proposal' in edit;
    const action = approved ? 'approve' : 'reject';
    this.operations.push({ id, action, by, step, from: stored.state.status, revision: 0, proposed, at: 0 });
    this.note({ type: 'decided', step, by, approved, outcome: proposed ? 'counted' : 'sent' });
    return edit && 'signal' in edit ? edit.signal.payload : undefined;
  }

  /** Another one each time that the pick is the same. */
  next(pick: number): string {
    this.calls += 1;
    return `operator ${(pick + this.calls) % APPROVERS}`;
  }
}
