import { SagaError, type SagaOperations, type SagaService } from '../../libs/saga/src/index.js';
import type { RollbackPlan } from '../../libs/saga/src/operators.js';
import { itemKey } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { resolvesCompensation } from '../../libs/saga/src/engine/operate/operator-edits.js';
import { decide } from '../../libs/saga/src/machine/decide.js';
import { isUndecided } from '../../libs/saga/src/machine/predicates.js';
import { evolve } from '../../libs/saga/src/machine/evolve.js';
import type { Move, RandomGraph } from '../oracle/random-graph.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import { isTerminal, type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import type { CallQueue } from './held-calls.js';
import { LockstepSaga } from './lockstep-saga.js';

/** The predicted compensations of a cancellation, without the steps in progress. */
interface Preview {
  readonly planned: readonly string[];
  readonly inProgress: ReadonlySet<string>;
  /** Where in the play the cancellation is. */
  readonly at: number;
}

/** A saga that is played, with an operator who acts on it by the services. */
export class OperatedSaga extends LockstepSaga {
  private preview: Preview | undefined;

  constructor(
    saga: RandomGraph,
    id: string,
    calls: CallQueue,
    load: () => Promise<SagaState>,
    /** The services of the running application. */
    private readonly services: () => { readonly sagas: SagaService; readonly operations: SagaOperations },
  ) {
    super(saga, id, calls, load);
  }

  protected override async move(move: Move): Promise<void> {
    if (move.kind === 'cancel' && !this.preview) return this.cancel();
    if (move.kind === 'abort' && !this.preview) return this.abort();
    // Previewed compensations have to succeed.
    const goesWell = this.preview && this.picked(move).attempt.kind === 'compensate';
    await super.move(goesWell ? { ...move, kind: 'succeed' } : move);
  }

  protected override async operate(): Promise<boolean> {
    if (isTerminal(this.state.status)) return false;
    const { waitingFor } = await this.services().sagas.get(this.id);
    const steps = waitingFor?.kind === 'person' ? waitingFor.steps : [];
    for (let move = this.script.shift(); move; move = this.script.shift()) {
      const step = steps[move.pick % steps.length];
      if (move.kind === 'cancel') return this.cancel().then(() => true);
      if (move.kind === 'abort') return this.abort().then(() => true);
      if (move.kind === 'retry') return this.retry().then(() => true);
      if (move.kind === 'retry one' && step !== undefined) return this.retry(step).then(() => true);
      if (move.kind === 'resolve one' && step !== undefined) return this.resolve(step).then(() => true);
    }
    return false;
  }

  protected override send(name: string, payload: unknown): Promise<void> {
    return this.services().sagas.signal(this.id, name, payload);
  }

  private async cancel(): Promise<void> {
    const { status, rollbackTo } = this.state;
    const preview = await this.previewed();
    const isRefused = this.pivotInProgress();
    const refusal = await codeOf(this.services().sagas.cancel(this.id, { reason: 'manual' }));
    if (isRefused) {
      if (refusal !== 'SAGA_STATE') throw new Error(`cancel() while a pivot is in progress: ${refusal}`);
      return;
    }
    const isOnItsWay = status === 'compensating' && rollbackTo === undefined;
    const isAccepted = this.takesEffect({ type: 'cancelled', reason: 'manual', now: this.now });
    const expected = isAccepted || isOnItsWay ? undefined : 'SAGA_STATE';
    if (refusal !== expected) throw new Error(`cancel() of a ${status} saga: ${refusal}, not ${expected}`);
    if (isAccepted) this.preview = preview;
  }

  /**
   * An attempt of a pivot is in progress, may be, or may have taken effect: its outcome decides, and not an
   * operator.
   */
  private pivotInProgress(): boolean {
    const { status } = this.state;
    if (status !== 'running' && status !== 'compensating') return false;
    const begins = decide(this.graph, this.state, this.now)
      .actions.filter(({ kind }) => kind === 'run')
      .map(({ node }) => node.name);
    return [...this.graph.steps.values()].some(
      (node) =>
        node.pivot &&
        node.kind !== 'sub-saga' &&
        (begins.includes(node.name) || isUndecided(node, stepState(this.state, node.name))),
    );
  }

  private async abort(): Promise<void> {
    await this.services().operations.abort(this.id);
    this.checkpoint({ type: 'aborted' });
    this.cutShort = this.keysInProgress();
    this.letGo();
  }

  private async retry(step?: string): Promise<void> {
    await this.services().operations.retry(this.id, { step });
    if (!this.takesEffect({ type: 'retried', step })) throw new Error(`retry of ${step} is accepted`);
  }

  private async resolve(key: string): Promise<void> {
    const resolve = (given: { result?: string }) =>
      codeOf(this.services().operations.resolve(this.id, key, given));
    let refusal = await resolve({ result: 'manual' });
    if (resolvesCompensation({ state: this.state }, key)) {
      if (refusal !== 'SAGA_VALIDATION') throw new Error(`resolve of ${key} with a result: ${refusal}`);
      refusal = await resolve({});
    }
    if (this.isUnapproved(key)) {
      // One that is open would be approved, by an operator who gives a name.
      const isOpen = ['pending', 'waiting'].includes(stepState(this.state, key).status);
      if (refusal !== (isOpen ? 'SAGA_VALIDATION' : 'SAGA_STATE'))
        throw new Error(`resolve of the approval ${key}: ${refusal}`);
      return;
    }
    if (refusal !== undefined) throw new Error(`resolve of ${key}: ${refusal}`);
    const isAccepted = this.takesEffect({ type: 'operator-resolved', step: key, result: '"manual"' });
    if (!isAccepted) throw new Error(`resolve of ${key} is accepted`);
    const undone = stepState(this.state, key).status === 'compensated';
    const { round } = stepState(this.state, key.replace(/\[.*/, ''));
    // Before it is recorded, as it is known by then.
    this.entries.splice(-1, 0, { type: 'completed manually', key, round, undone });
  }

  /** An approval that has failed, going forward, before it was given. */
  private isUnapproved(key: string): boolean {
    const { status, wait } = stepState(this.state, key);
    const isForward = status !== 'compensation_failed' && this.state.heldPhase === 'running';
    const isApproval = this.graph.steps.get(key)?.kind === 'approval';
    return isApproval && isForward && wait?.takenSignal === undefined;
  }

  private takesEffect(event: SagaEvent): boolean {
    const takes = evolve(this.graph, this.state, event) !== this.state;
    // What changes nothing is not written either.
    if (takes) this.checkpoint(event);
    else this.apply(event);
    return takes;
  }

  private async previewed(): Promise<Preview> {
    const plan = await this.services().operations.previewRollback(this.id);
    return {
      planned: plan.compensations.map(textOf),
      inProgress: this.keysInProgress(),
      at: this.entries.length,
    };
  }

  /** In what the compensations after a cancellation were not those that had been said before. */
  unlikePreview(): string | undefined {
    if (!this.preview || this.state.status !== 'compensated') return undefined;
    const { planned, inProgress, at } = this.preview;
    const since = this.entries.slice(at);
    // Steps that failed permanently are compensated only on request. A lost worker leaves more to compensate.
    const others: SagaEvent['type'][] = ['retried', 'operator-resolved', 'taken-over', 'interrupted'];
    if (since.some((entry) => entry.type === 'event' && others.includes(entry.event.type))) return undefined;
    // What a probe finds is not known before.
    const probed = since.flatMap((entry) =>
      entry.type === 'started' && entry.attempt.kind === 'probe' ? entry.attempt.key : [],
    );
    const unknown = new Set([...inProgress, ...probed]);
    const ran = since.flatMap((entry) => {
      if (entry.type !== 'started' || entry.attempt.kind !== 'compensate') return [];
      const { key } = entry.attempt;
      return [`${key} of ${stepState(entry.after, key).result}`];
    });
    const known = (list: readonly string[]) => list.filter((one) => !unknown.has(one.split(' ')[0]!)).sort();
    const [should, did] = [known(planned).join(), known([...new Set(ran)]).join()];
    return should === did ? undefined : `said to undo ${should}; undid ${did}`;
  }
}

function textOf({ step, index, result }: RollbackPlan['compensations'][number]): string {
  return `${index === undefined ? step : itemKey(step, index)} of ${JSON.stringify(result)}`;
}

/** The code of the refusal; undefined: it was accepted. */
async function codeOf(call: Promise<void>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof SagaError) return error.code;
    throw error;
  }
}
