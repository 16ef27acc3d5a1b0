import { SagaCodecError, SagaStateError, SagaValidationError } from '../../errors.js';
import { type SagaGraph, sagaLabel, type StepNode } from '../../definition/graph/saga-graph.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import type { EventOf, SagaEvent } from '../../machine/saga-event.js';
import { isTerminal, type SagaState, stepState } from '../../machine/saga-state.js';
import { awaitedBy } from '../../machine/sub-sagas.js';
import type { StepAttempt } from '../attempt/step-attempt.js';
import { TRACE_TAG } from '../observe/trace-context.js';
import { newSagaOf } from '../operate/new-saga.js';
import { requestCancelEdit, undoEdit } from '../operate/operator-edits.js';
import { resultsText } from '../payload/decode-results.js';
import { serializeError } from '../payload/serialize-error.js';
import { lockKeyOf } from '../payload/start-keys.js';
import {
  graphUnknownHere,
  handlerFailure,
  handlerResult,
  newHandlerCall,
  withdrawEdit,
} from '../ports/handler-calls.js';
import type { Invoker } from '../ports/invoker.js';
import type { Child, StoredSaga } from '../ports/stored-saga.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/**
 * This process cannot read the result that a step waits for. Nothing has started, so another process may run the saga.
 */
export class UnreadableChild extends Error {}

type ChildEnded = EventOf<'child-ended'>;

/**
 * The sagas that steps of one run start and wait for: how they are made, cancelled and undone, what became of them, and which
 * of them the checkpoints of the run start.
 */
export class RunChildren {
  private readonly made: Child[] = [];

  constructor(
    private readonly saga: StoredSaga,
    private readonly invoke: Invoker,
    private readonly ports: Pick<
      SagaRunPorts,
      'attempts' | 'definitions' | 'edits' | 'newId' | 'now' | 'retry' | 'store'
    >,
  ) {}

  /** Carries out what is to be done for a sub-saga step, its own compensation apart. */
  async attempt(attempt: StepAttempt, state: SagaState): Promise<SagaEvent[]> {
    const { step, action } = attempt;
    if (action.kind === 'run') return [await this.start(attempt)];
    const { id } = stepState(state, step).child!;
    return action.kind === 'cancel-child' ? this.cancel(step, id) : this.undo(step, id);
  }

  /** The sagas that a checkpoint of this state starts. */
  startedBy(state: SagaState, saved: SagaState): Child[] | undefined {
    const started = this.made.filter(({ id, parent: { step } }) => {
      const isWanted = stepState(state, step).child?.id === id;
      return isWanted && stepState(saved, step).child?.id !== id;
    });
    return started.length > 0 ? started : undefined;
  }

  /**
   * What became of the sagas that are waited for, as far as they have ended. One that is still completed, though it was asked
   * to compensate, is asked again: a failover has lost that, and the state of its parent was put back.
   */
  async ended(state: SagaState): Promise<SagaEvent[]> {
    // It stands still: what has come is received once it goes on.
    const awaited = state.status === 'paused' ? [] : awaitedBy(state);
    if (awaited.length === 0) return [];
    const { retry, store } = this.ports;
    const sagas = await retry.run(() => store.ended(awaited.map(({ id }) => id)));
    const ended = new Map(sagas.map((saga) => [saga.id, saga]));
    const events: SagaEvent[] = [];
    for (const { id, step, isUndoing } of awaited) {
      const child = ended.get(id);
      if (!child) continue;
      if (isUndoing && child.state.status === 'completed') events.push(...(await this.undo(step, id)));
      else events.push(this.endOf(child, step));
    }
    return events;
  }

  /** What became of the sagas that are waited for, before anything starts. @throws UnreadableChild */
  async endedFirst(state: SagaState): Promise<SagaEvent[]> {
    try {
      return await this.ended(state);
    } catch (error) {
      if (!(error instanceof SagaCodecError)) throw error;
      throw new UnreadableChild(`${error.message} The lease of the saga is released`, { cause: error });
    }
  }

  private async start(attempt: StepAttempt): Promise<SagaEvent> {
    const { attempts } = this.ports;
    const event = await attempts.run(attempt, this.checking(attempt));
    if (event.type !== 'step-completed') return event;
    try {
      const child = await this.make(attempt.action.node, event.result, attempt.traceparent);
      this.made.push(child);
      return { type: 'child-started', step: attempt.step, child: child.id };
    } catch (error) {
      return attempts.failed(attempt, error);
    }
  }

  /**
   * The input is checked as `start()` does it: as part of the attempt, so that its timeout bounds that as well. What a handler is
   * given is its own to judge.
   */
  private checking(attempt: StepAttempt): Invoker {
    return async (...call) => {
      const input = await this.invoke(...call);
      const { child } = attempt.action.node;
      if (!child) return input;
      try {
        const { definitions } = this.ports;
        return await definitions.checked(definitions.latest(child()), input);
      } catch (error) {
        if (isWrongInput(error)) attempt.refusal = error;
        throw error;
      }
    };
  }

  /**
   * The saga that a step starts; it is stored with the step's checkpoint.
   * @param input JSON text
   * @param traceparent of the attempt that starts it; undefined: it is not measured
   * @throws SagaDefinitionError when this process does not know the saga; SagaValidationError for its lockKey
   */
  private async make(node: StepNode, input: string | undefined, traceparent?: string): Promise<Child> {
    const { saga, ports } = this;
    const { priority } = saga;
    const tags = traceparent === undefined ? saga.tags : { ...saga.tags, [TRACE_TAG]: traceparent };
    const given = { id: ports.newId(), fresh: true, priority, tags };
    const made = node.remote
      ? { ...given, ...newHandlerCall(node.remote, saga, node.name, input) }
      : await this.ofOwn(ports.definitions.latest(node.child!()), input, given);
    return { ...made, leased: false, parent: { id: saga.id, step: node.name } };
  }

  private async ofOwn(graph: SagaGraph, input: string | undefined, given: Parameters<typeof newSagaOf>[2]) {
    const lockKey = await lockKeyOf(graph, input, given.tags);
    return newSagaOf(graph, input, given, this.ports.now, lockKey);
  }

  /** Asks the step's saga to compensate; one that only goes forward is left to its end. */
  private async cancel(step: string, id: string): Promise<SagaEvent[]> {
    const asked: SagaEvent = { type: 'child-cancelling', step, child: id };
    const reason = this.reasonFor(step);
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
  private async undo(step: string, id: string): Promise<SagaEvent[]> {
    const reason = this.reasonFor(step);
    try {
      const child = await this.ports.edits.edit({ id }, (saga, graph, now) =>
        undoEdit(saga, graph ?? graphUnknownHere(saga), now, { reason }),
      );
      if (!child)
        throw new SagaStateError(`Sub-saga ${id} does not exist any more, and cannot be compensated.`);
      return [{ type: 'child-undoing', step, child: id }, ...this.endIfOver(child, step)];
    } catch (error) {
      if (!(error instanceof SagaStateError)) throw error;
      const failed = { step, error: serializeError(error), retryable: false, now: this.ports.now() };
      return [{ type: 'compensation-failed', ...failed, random: 0 }];
    }
  }

  private reasonFor(step: string): string {
    return `step '${step}' of ${this.saga.name} ${this.saga.id} is compensated`;
  }

  private endIfOver(child: StoredSaga | undefined, step: string): ChildEnded[] {
    return child && isTerminal(child.state.status) ? [this.endOf(child, step)] : [];
  }

  private endOf(child: StoredSaga, step: string): ChildEnded {
    const status = child.state.status as ChildEnded['status'];
    const ended = { type: 'child-ended', step, child: child.id, now: this.ports.now() } as const;
    const handler = handlerOf(child.name);
    if (status === 'completed') {
      const result = handler === undefined ? resultsText(child.state) : handlerResult(handler, child);
      return { ...ended, status, result };
    }
    const failure = handler === undefined ? { error: errorOf(child) } : handlerFailure(handler, child);
    return { ...ended, status, ...failure };
  }
}

/** A wrong input will be wrong the next time, too; one that could not be checked has a cause, which may pass. */
function isWrongInput(error: unknown): boolean {
  return error instanceof SagaValidationError && error.cause === undefined;
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
