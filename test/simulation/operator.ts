import {
  abortEdit,
  cancelEdit,
  permanentlyFailed,
  pauseEdit,
  requestCancelEdit,
  resolveEdit,
  resolvesCompensation,
  resumeEdit,
  retryEdit,
  undoEdit,
} from '../../libs/saga/src/engine/operate/operator-edits.js';
import type { Edit } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { awaitedBy } from '../../libs/saga/src/machine/sub-sagas.js';
import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { SagaEngine } from '../../libs/saga/src/engine/saga-engine.js';
import { effectKey } from './effect-key.js';
import type { Participants } from './participants.js';
import type { OperatorCall } from './scenario.js';

type Change = (saga: StoredSaga, graph: SagaGraph | undefined, now: number) => Edit | undefined;

/** An operator whose manual actions really happen. */
export class Operator {
  constructor(private readonly participants: Participants) {}

  /**
   * @throws what the call throws: that it does not fit the saga's state, or that the database cannot be
   * reached
   */
  async carryOut({ kind, pick }: OperatorCall, id: string, engine: SagaEngine): Promise<void> {
    if (kind === 'abort') return this.abort(id, engine);
    await engine.edit({ id }, this.changeOf(kind, pick));
  }

  /**
   * Cancels a saga while its pivot is in progress. `isEarly`: as a call just before the attempt started,
   * which cannot be refused.
   */
  async cancelInPivot(id: string, isEarly: boolean, engine: SagaEngine): Promise<void> {
    const edit = isEarly ? requestCancelEdit : cancelEdit;
    await engine.edit({ id }, (saga, graph, now) => edit(saga, graph, now, { reason: 'while it pays' }));
  }

  /** Every saga that is paused goes on some day. */
  async resume(id: string, engine: SagaEngine): Promise<void> {
    await engine.edit({ id }, resumeEdit);
  }

  private changeOf(kind: OperatorCall['kind'], pick: number): Change {
    if (kind === 'cancel') return (saga, graph, now) => cancelEdit(saga, graph, now, { reason: 'manual' });
    if (kind === 'pause') return pauseEdit;
    if (kind === 'undo') return (saga, graph, now) => undoEdit(saga, graph, now, {});
    if (kind === 'retry') return (saga, graph, now) => retryEdit(saga, graph, now, {});
    return (saga, graph, now) => {
      const steps = permanentlyFailed(saga, graph);
      const step = steps[pick % steps.length] ?? 'none';
      if (kind === 'retry one') return retryEdit(saga, graph, now, { step });
      const isUndone = resolvesCompensation(saga, step);
      const edit = resolveEdit(saga, graph, now, { step, ...(!isUndone && { result: '"manual"' }) });
      this.doManually(saga, step, isUndone);
      return edit;
    };
  }

  /** Performs a resolved step manually, or compensates it manually during a rollback. */
  private doManually({ id, state }: StoredSaga, key: string, isUndone: boolean): void {
    const { round } = state.steps.get(key) ?? { round: 1 };
    const effect = this.participants.effect(effectKey(id, key, round));
    if (isUndone) effect.isUndone = true;
    else effect.value ??= 'manual';
  }

  /** With the sagas that its steps wait for, as SagaOperations.abort does. */
  private async abort(id: string, engine: SagaEngine): Promise<void> {
    const saga = await engine.edit({ id }, (s, graph, now) => abortEdit(s, graph, now, {}));
    for (const child of saga ? awaitedBy(saga.state) : [])
      await this.abort(child.id, engine).catch(() => undefined);
  }
}
