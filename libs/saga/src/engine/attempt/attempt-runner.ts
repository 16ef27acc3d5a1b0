import { types } from 'node:util';
import { type SagaError, StepAbortedError } from '../../errors.js';
import { leavesNothing } from '../../definition/graph/saga-graph.js';
import { toMilliseconds } from '../../definition/options/duration.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import { ownText } from '../../shared/own-text.js';
import type { ResolvedRetryPolicy } from '../../definition/options/retry-policy.js';
import type { EventOf, SagaEvent } from '../../machine/saga-event.js';
import { ignoreRejection } from '../../shared/ignore-rejection.js';
import type { Clock } from '../../shared/clock.js';
import { isolated } from '../../shared/own-context.js';
import { TURN_BUDGET } from '../../shared/turn-budget.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { StepTransaction } from '../ports/saga-store.js';
import type { Invoker, MethodContext } from '../ports/invoker.js';
import { encodePayload } from '../payload/payload.js';
import type { AttemptWatch } from '../observe/instrument.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import { serializeError } from '../payload/serialize-error.js';
import { boundAttempt, isBounded } from './bound-attempt.js';
import type { StepAttempt } from './step-attempt.js';

export interface AttemptRunnerOptions {
  readonly maxPayloadBytes: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: EngineLog;
  readonly clock: Clock;
  readonly observers: SagaObservers;
  /** Default: methods are called directly. */
  readonly within?: MethodContext;
}

/** The longest wait (ms) that an error can ask for: one day. */
const LONGEST_ASKED_WAIT = 86_400_000;

/**
 * The first line of a stack that is not the method's: the call of the method by the engine. All below is the same for every
 * error, longer than the rest in most stacks, and would be stored with each failed attempt.
 */
const CALL = /\n\s+at (?:async )?(?:callSagaMethod|AttemptRunner\.)/;

type StepFailed = EventOf<'step-failed'>;

/** An attempt that timed out: told apart from what a method throws by identity, since that may be a proxy that throws. */
const TIMED_OUT = Symbol('timed out');

/** Makes attempts: calls the method, bounds it in time, and says what happened as an event for the machine. */
export class AttemptRunner {
  constructor(private readonly options: AttemptRunnerOptions) {}

  run(attempt: StepAttempt, invoke: Invoker, transaction?: StepTransaction): Promise<SagaEvent> {
    const { kind, node } = attempt.action;
    if (kind === 'probe') return this.probed(attempt, invoke, this.lost(attempt));
    return node.probe === undefined
      ? this.attempted(attempt, invoke, transaction)
      : this.attemptedAndAsked(attempt, invoke, transaction);
  }

  private async attemptedAndAsked(
    attempt: StepAttempt,
    invoke: Invoker,
    transaction: StepTransaction | undefined,
  ): Promise<SagaEvent> {
    const event = await this.attempted(attempt, invoke, transaction);
    const { probe } = attempt.action.node;
    if (event.type !== 'step-failed' || probe === undefined) return event;
    // Whether an earlier attempt has taken effect may be in doubt as well, such as one that was lost with its worker.
    if (!event.unknown && !attempt.isInDoubt) return event;
    if (attempt.isBrokenOff) return event;
    const question = attempt.probe();
    const answer = await this.probed(question, invoke, event);
    attempt.messages.replaceBy(question.messages);
    return answer;
  }

  private async attempted(
    attempt: StepAttempt,
    invoke: Invoker,
    transaction: StepTransaction | undefined,
  ): Promise<SagaEvent> {
    let result: unknown;
    const watch = this.watch(attempt);
    attempt.messages.open(attempt.traceparent);
    try {
      // Its name marks in stacks where the method ends: see CALL.
      const callSagaMethod = () => invoke(attempt.method, attempt.context(transaction), attempt.payload());
      result = await this.bounded(attempt, watch ? () => watch.within(callSagaMethod) : callSagaMethod);
    } catch (error) {
      return this.ended(attempt, watch, this.failed(attempt, error));
    } finally {
      attempt.messages.close();
    }
    if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
    const isStep = attempt.action.kind !== 'compensate';
    const event = isStep ? this.completed(attempt, result) : this.compensated(attempt);
    return this.ended(attempt, watch, event);
  }

  /** If a participant confirms it, it was only asked to. */
  private compensated({ step, action }: StepAttempt): SagaEvent {
    return action.node.compensationReply === undefined
      ? { type: 'compensation-completed', step }
      : { type: 'compensation-requested', step, now: this.options.now() };
  }

  /** Undefined: attempts are not measured. */
  private watch(attempt: StepAttempt): AttemptWatch | undefined {
    const watch = this.options.observers.attempting(() => attempt.measured());
    attempt.traceparent = watch?.traceparent;
    return watch;
  }

  private ended<E extends SagaEvent>(attempt: StepAttempt, watch: AttemptWatch | undefined, event: E): E {
    if (watch) this.options.observers.ended(watch, event, attempt.isBrokenOff, attempt.abortedBy?.trigger);
    return event;
  }

  /** Calls the probe of an attempt. If the probe does not know the outcome, it stays unknown. */
  private async probed(probe: StepAttempt, invoke: Invoker, failed: StepFailed): Promise<SagaEvent> {
    let answer: unknown;
    let done: { result: unknown } | undefined;
    const watch = this.watch(probe);
    probe.messages.open(probe.traceparent);
    try {
      const callProbe = () => invoke(probe.method, probe.context());
      answer = await this.bounded(probe, watch ? () => watch.within(callProbe) : callProbe);
      // Here, since it may be a proxy, or a getter that throws.
      if (typeof answer === 'object' && answer !== null && 'done' in answer) done = { result: answer.done };
    } catch (error) {
      const thrown = error === TIMED_OUT ? probe.abortedBy : error;
      this.options.log.warn(
        `Probe '${probe.method}' of step '${probe.step}': ${this.options.observers.textOf(thrown)}`,
        probe.subject,
      );
      this.ended(probe, watch, { ...failed, error: serializeError(thrown) });
      return failed;
    } finally {
      probe.messages.close();
    }
    this.ended(probe, watch, { type: 'step-completed', step: probe.step });
    if (answer === 'not-done') return { ...failed, unknown: false, notDone: true };
    if (done) return this.completed(probe, done.result);
    if (answer !== 'unknown') {
      this.options.log.warn(
        `Probe '${probe.method}' of step '${probe.step}' must return { done: result }, 'not-done' or 'unknown'`,
        probe.subject,
      );
    }
    return failed;
  }

  /** The outcome of a lost attempt of an at-most-once step is unknown. */
  private lost({ step }: StepAttempt): StepFailed {
    return {
      type: 'step-failed',
      step,
      kind: 'error',
      unknown: true,
      retryable: true,
      error: {
        name: 'StepInterruptedError',
        message: `The at-most-once step '${step}' was interrupted; its outcome is unknown`,
      },
      now: this.options.now(),
      random: this.options.random(),
    };
  }

  private completed({ step, action }: StepAttempt, result: unknown): SagaEvent {
    try {
      const text = encodePayload(result, `result of step '${step}'`, this.options.maxPayloadBytes);
      return { type: 'step-completed', step, result: text, now: this.options.now() };
    } catch (error) {
      // The step did its work, and will do no better next time: it is undone, without a result.
      const [now, random] = [this.options.now(), this.options.random()];
      const failed = { step, error: serializeError(error), retryable: false, now, random };
      return { type: 'step-failed', kind: 'error', unknown: !leavesNothing(action.node), ...failed };
    }
  }

  /** No reply has come in time: the attempt of the compensation has failed, and its policy is asked. */
  unanswered(attempt: StepAttempt): SagaEvent {
    const { signal, timeout } = attempt.action.node.compensationReply!;
    const message = `The compensation of step '${attempt.step}' did not receive the signal '${signal}' before its timeout`;
    return this.failed(
      attempt,
      new StepAbortedError(`${message}${timeout === undefined ? '' : ` of ${timeout} ms`}`, 'timeout'),
    );
  }

  /** What a failed attempt means. A transactional one was rolled back, so its outcome is always known. */
  failed(attempt: StepAttempt, error: unknown): SagaEvent {
    const { kind, node } = attempt.action;
    const timedOut = error === TIMED_OUT;
    const thrown = timedOut ? attempt.abortedBy : error;
    const refused = attempt.refusal !== undefined && error === attempt.refusal;
    const rejected = refused || isCoded(thrown, 'SAGA_STEP_REJECTED');
    const policy = kind === 'compensate' ? node.compensationRetry : node.retry;
    const retryable = !rejected && this.mayRetry(policy.retryIf, thrown, attempt);
    const failed = {
      step: attempt.step,
      error: withMethodStacks(serializeError(thrown)),
      retryable,
      now: this.options.now(),
      random: this.options.random(),
      ...(retryable && this.backoffOf(policy, attempt, thrown)),
      ...waitAskedBy(thrown),
    };
    if (kind === 'compensate') return { type: 'compensation-failed', ...failed };
    // Who failed permanently because the signal aborted, and who was not waited for any longer, may have sent the request already.
    const unknown = isCoded(thrown, 'SAGA_UNKNOWN_OUTCOME') || (attempt.abortedBy !== undefined && !rejected);
    return {
      type: 'step-failed',
      ...failed,
      kind: timedOut ? 'timeout' : retryable ? 'error' : 'rejected',
      unknown: unknown && !leavesNothing(node),
    };
  }

  private inContext(attempt: StepAttempt, call: () => unknown): unknown {
    const { within } = this.options;
    return isolated(within ? () => within(attempt.tags ?? {}, call) : call);
  }

  /** What the call returns, a promise perhaps; if its step has a timeout, a promise that keeps to it. */
  private bounded(attempt: StepAttempt, call: () => unknown): unknown {
    if (!isBounded(attempt)) return this.inContext(attempt, call);
    return new Promise<unknown>((resolve, reject) => {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a mark, never seen outside
      const stop = boundAttempt(attempt, this.options.clock, () => reject(TIMED_OUT));
      new Promise((settle) => settle(this.inContext(attempt, call))).then(resolve, reject).finally(stop);
    });
  }

  /** What a function of the policy says, or nothing: then the next attempt comes as without it. */
  private backoffOf(
    { backoff }: ResolvedRetryPolicy,
    attempt: StepAttempt,
    error: unknown,
  ): { backoff?: number } {
    if (typeof backoff !== 'function') return {};
    try {
      const answer: unknown = backoff(attempt.number, error);
      ignoreRejection(answer);
      return { backoff: toMilliseconds(answer, 'backoff') };
    } catch (thrown) {
      this.options.log.warn(
        `backoff of step '${attempt.step}' failed, so the default delay applies: ${this.options.observers.textOf(thrown)}`,
        attempt.subject,
      );
      return {};
    }
  }

  private mayRetry(
    retryIf: ((error: unknown) => boolean) | undefined,
    error: unknown,
    attempt: StepAttempt,
  ): boolean {
    if (!retryIf) return true;
    try {
      const answer: unknown = retryIf(error);
      ignoreRejection(answer);
      if (types.isPromise(answer))
        throw new TypeError('it must return synchronously, but returned a promise');
      return Boolean(answer);
    } catch (thrown) {
      this.options.log.warn(
        `retryIf of step '${attempt.step}' failed, so the step is retried: ${this.options.observers.textOf(thrown)}`,
        attempt.subject,
      );
      return true;
    }
  }
}

/** The wait that the participant asked for: `retryAfterMs` of the error. */
function waitAskedBy(error: unknown): { retryAfter?: number } {
  try {
    const { retryAfterMs: wait } = error as { retryAfterMs?: unknown };
    return typeof wait === 'number' && wait > 0 ? { retryAfter: Math.min(wait, LONGEST_ASKED_WAIT) } : {};
  } catch {
    return {};
  }
}

/** By code, not by class: two copies of this package may be loaded (ES module and bundled). */
function isCoded(error: unknown, code: SagaError['code']): boolean {
  try {
    return (error as { code?: unknown } | null | undefined)?.code === code;
  } catch {
    return false;
  }
}

/** An error that a method threw, and its causes, with stacks that end where the engine called the method. */
export function withMethodStacks(error: SerializedError): SerializedError {
  const { stack, cause } = error;
  if (stack !== undefined) error.stack = endedAtCall(stack);
  if (cause !== undefined) withMethodStacks(cause);
  return error;
}

/** A stack that has lines of the engine only stays whole. */
function endedAtCall(stack: string): string {
  const call = stack.search(CALL);
  const first = stack.search(/\n\s+at /);
  return call > first ? ownText(stack.slice(0, call)) : stack;
}
