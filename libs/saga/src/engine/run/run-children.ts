import { SagaCodecError, SagaValidationError } from '../../errors.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { awaitedBy } from '../../machine/sub-sagas.js';
import type { SagaRunPorts } from './saga-run-ports.js';
import type { Invoker } from '../ports/invoker.js';
import type { Child, StoredSaga } from '../ports/stored-saga.js';
import type { StepAttempt } from '../attempt/step-attempt.js';

/**
 * This process cannot read the result that a step waits for. Nothing has started, so another process may run the saga.
 */
export class UnreadableChild extends Error {}

/** The sub-saga steps of one run: what is made and asked for them, and which sagas its checkpoints start. */
export class RunChildren {
  private readonly made: Child[] = [];

  constructor(
    private readonly saga: StoredSaga,
    private readonly invoke: Invoker,
    private readonly ports: Pick<SagaRunPorts, 'attempts' | 'children'>,
  ) {}

  /** Carries out what is to be done for a sub-saga step, its own compensation apart. */
  async attempt(attempt: StepAttempt, state: SagaState): Promise<SagaEvent[]> {
    const { step, action } = attempt;
    if (action.kind === 'run') return [await this.start(attempt)];
    const awaited = { step, id: stepState(state, step).child!.id };
    const reason = this.reasonFor(step);
    return action.kind === 'cancel-child'
      ? this.ports.children.cancel(awaited, reason)
      : this.ports.children.undo(awaited, reason);
  }

  private reasonFor(step: string): string {
    return `step '${step}' of ${this.saga.name} ${this.saga.id} is compensated`;
  }

  /** The sagas that a checkpoint of this state starts. */
  startedBy(state: SagaState, saved: SagaState): Child[] | undefined {
    const started = this.made.filter(({ id, parent: { step } }) => {
      const isWanted = stepState(state, step).child?.id === id;
      return isWanted && stepState(saved, step).child?.id !== id;
    });
    return started.length > 0 ? started : undefined;
  }

  /** What became of the sagas that are waited for, as far as they have ended. */
  async ended(state: SagaState): Promise<SagaEvent[]> {
    // It stands still: what has come is received once it goes on.
    if (state.status === 'paused') return [];
    const awaited = awaitedBy(state);
    return awaited.length > 0 ? this.ports.children.ended(awaited, (step) => this.reasonFor(step)) : [];
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

  /** The input is checked as `start()` does it: as part of the attempt, so that its timeout bounds that as well. */
  private checking(attempt: StepAttempt): Invoker {
    return async (...call) => {
      const input = await this.invoke(...call);
      try {
        return await this.ports.children.checked(attempt.action.node, input);
      } catch (error) {
        if (isWrongInput(error)) attempt.refusal = error;
        throw error;
      }
    };
  }

  private async start(attempt: StepAttempt): Promise<SagaEvent> {
    const { attempts, children } = this.ports;
    const event = await attempts.run(attempt, this.checking(attempt));
    if (event.type !== 'step-completed') return event;
    try {
      const child = await children.make(attempt.action.node, this.saga, event.result, attempt.traceparent);
      this.made.push(child);
      return { type: 'child-started', step: attempt.step, child: child.id };
    } catch (error) {
      return attempts.failed(attempt, error);
    }
  }
}

/** A wrong input will be wrong the next time, too; one that could not be checked has a cause, which may pass. */
function isWrongInput(error: unknown): boolean {
  return error instanceof SagaValidationError && error.cause === undefined;
}
