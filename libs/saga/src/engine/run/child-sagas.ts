import type { SerializedError } from '../../definition/types/saga-failure.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import { type SagaGraph, sagaLabel, type StepNode } from '../../definition/graph/saga-graph.js';
import { SagaStateError } from '../../errors.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { isTerminal } from '../../machine/saga-state.js';
import type { Awaited } from '../../machine/sub-sagas.js';
import { requestCancelEdit, undoEdit } from '../operate/operator-edits.js';
import { resultsText } from '../payload/decode-results.js';
import {
  graphUnknownHere,
  handlerFailure,
  handlerResult,
  newHandlerCall,
  withdrawEdit,
} from '../ports/handler-calls.js';
import { newSagaOf } from '../operate/new-saga.js';
import { awaitedLockKeyOf } from '../payload/start-keys.js';
import type { SagaDefinitions } from '../ports/saga-definitions.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { Child, StoredSaga } from '../ports/stored-saga.js';
import type { SagaEdits } from '../write/saga-edits.js';
import type { StoreClock } from '../../shared/store-clock.js';
import type { StoreRetry } from '../write/store-retry.js';
import { TRACE_TAG } from '../observe/trace-context.js';
import { serializeError } from '../payload/serialize-error.js';

export interface ChildSagasPorts {
  readonly definitions: Pick<SagaDefinitions, 'latest' | 'checked'>;
  readonly store: Pick<SagaStore, 'ended'>;
  readonly retry: Pick<StoreRetry, 'run'>;
  readonly edits: Pick<SagaEdits, 'edit'>;
  readonly storeClock: Pick<StoreClock, 'now'>;
  /** A UUID. */
  readonly newId: () => string;
}

type ChildEnded = Extract<SagaEvent, { type: 'child-ended' }>;

/** The sagas that steps of others wait for: how they are made, known, cancelled and undone. */
export class ChildSagas {
  constructor(private readonly ports: ChildSagasPorts) {}

  /**
   * The saga that a step starts; it is stored with the step's checkpoint.
   * @param input JSON text
   * @param traceparent of the attempt that starts it; undefined: it is not measured
   * @throws SagaDefinitionError when this process does not know the saga; SagaValidationError for its lockKey
   */
  async make(
    node: StepNode,
    saga: StoredSaga,
    input: string | undefined,
    traceparent?: string,
  ): Promise<Child> {
    const { priority } = saga;
    const tags = traceparent === undefined ? saga.tags : { ...saga.tags, [TRACE_TAG]: traceparent };
    const given = { id: this.ports.newId(), fresh: true, priority, tags };
    const made = node.remote
      ? { ...given, ...newHandlerCall(node.remote, saga, node.name, input) }
      : await this.ofOwn(this.ports.definitions.latest(node.child!()), input, given);
    return { ...made, leased: false, parent: { id: saga.id, step: node.name } };
  }

  private async ofOwn(graph: SagaGraph, input: string | undefined, given: Parameters<typeof newSagaOf>[2]) {
    const lockKey = await awaitedLockKeyOf(graph, input);
    return newSagaOf(graph, input, given, () => this.ports.storeClock.now(), lockKey);
  }

  /**
   * What a step's method gives its saga, as it is to be stored. What a handler is given is its own to judge.
   * @throws SagaDefinitionError when this process does not know the saga; SagaValidationError for a wrong input
   */
  async checked({ child }: StepNode, input: unknown): Promise<unknown> {
    return child ? this.ports.definitions.checked(this.ports.definitions.latest(child()), input) : input;
  }

  /**
   * What became of those that have ended by now. One that is still completed, though it was asked to compensate, is asked
   * again: a failover has lost that, and the state of its parent was put back.
   */
  async ended(awaited: readonly Awaited[], reasonFor: (step: string) => string): Promise<SagaEvent[]> {
    const { store, retry } = this.ports;
    const sagas = await retry.run(() => store.ended(awaited.map(({ id }) => id)));
    const ended = new Map(sagas.map((saga) => [saga.id, saga]));
    const events: SagaEvent[] = [];
    for (const one of awaited) {
      const child = ended.get(one.id);
      if (!child) continue;
      if (one.isUndoing && child.state.status === 'completed')
        events.push(...(await this.undo(one, reasonFor(one.step))));
      else events.push(this.endOf(child, one.step));
    }
    return events;
  }

  /** Asks the step's saga to compensate; one that only goes forward is left to its end. */
  async cancel({ step, id }: Awaited, reason: string): Promise<SagaEvent[]> {
    const asked: SagaEvent = { type: 'child-cancelling', step, child: id };
    try {
      const child = await this.ports.edits.edit(
        { id },
        (saga, graph, now) => withdrawEdit(saga, reason) ?? requestCancelEdit(saga, graph, now, { reason }),
      );
      return [asked, ...this.endIfOver(child, step)];
    } catch (error) {
      if (error instanceof SagaStateError) return [asked];
      throw error;
    }
  }

  /**
   * Asks the step's saga to compensate all of its steps. If a worker that was lost had asked before, that saga may have
   * ended already. Then no notification follows.
   */
  async undo({ step, id }: Awaited, reason: string): Promise<SagaEvent[]> {
    try {
      const child = await this.ports.edits.edit({ id }, (saga, graph, now) =>
        undoEdit(saga, graph ?? graphUnknownHere(saga), now, { reason }),
      );
      if (!child)
        throw new SagaStateError(`Sub-saga ${id} does not exist any more, and cannot be compensated.`);
      return [{ type: 'child-undoing', step, child: id }, ...this.endIfOver(child, step)];
    } catch (error) {
      if (!(error instanceof SagaStateError)) throw error;
      const failed = {
        step,
        error: serializeError(error),
        retryable: false,
        now: this.ports.storeClock.now(),
      };
      return [{ type: 'compensation-failed', ...failed, random: 0 }];
    }
  }

  private endIfOver(child: StoredSaga | undefined, step: string): ChildEnded[] {
    return child && isTerminal(child.state.status) ? [this.endOf(child, step)] : [];
  }

  private endOf(child: StoredSaga, step: string): ChildEnded {
    const status = child.state.status as ChildEnded['status'];
    const ended = { type: 'child-ended', step, child: child.id, now: this.ports.storeClock.now() } as const;
    const handler = handlerOf(child.name);
    if (handler !== undefined) {
      return status === 'completed'
        ? { ...ended, status, result: handlerResult(handler, child) }
        : { ...ended, status, ...handlerFailure(handler, child) };
    }
    return status === 'completed'
      ? { ...ended, status, result: resultsText(child.state) }
      : { ...ended, status, error: errorOf(child) };
  }
}

/** What its parent's step is notified of a saga that compensated, or was aborted. */
function errorOf(child: StoredSaga): SerializedError {
  const { status, failure } = child.state;
  const why = failure?.error?.message ?? failure?.reason ?? failure?.kind;
  return {
    name: 'SubSagaFailedError',
    message: `Sub-saga ${sagaLabel(child)} (${child.id}) was ${status}${why === undefined ? '' : `: ${why}`}`,
    ...(failure?.error && { cause: failure.error }),
  };
}
