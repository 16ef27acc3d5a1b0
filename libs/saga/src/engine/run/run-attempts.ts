import { type SagaGraph, startsSaga } from '../../definition/graph/saga-graph.js';
import type { StepContext } from '../../definition/types/contexts.js';
import { StepAbortedError } from '../../errors.js';
import { goesOn } from '../../machine/failures.js';
import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { NOTHING } from '../../shared/empty-array.js';
import { askFirst, type FirstAnswer } from '../attempt/evaluate-conditions.js';
import { StepAttempt } from '../attempt/step-attempt.js';
import { type AttemptHost, attemptInTransaction, isFailure } from '../attempt/transactional-attempt.js';
import type { Invoker } from '../ports/invoker.js';
import type { RunInbox } from './inbox.js';
import type { RunChildren } from './run-children.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** The outcome of an attempt, or another event. */
export interface Outcome {
  readonly attempt?: StepAttempt;
  readonly event: SagaEvent;
}

/** What a run waits for: an outcome, or a reason to decide again. */
export type RunMessage = Outcome | { readonly wake: true };

/** The attempts in progress of one run: how they start and are aborted. Their outcomes arrive in the run's inbox. */
export class RunAttempts {
  /** An array, because there is mostly one at most. */
  private attempts: StepAttempt[] = NOTHING;
  /** Answers that arrive later, by step and round: while they are promises, they have not arrived. */
  private later: Map<string, FirstAnswer | Promise<FirstAnswer>> | undefined;

  constructor(
    private readonly run: AttemptHost,
    private readonly inbox: RunInbox<RunMessage>,
    /** Undefined: no step starts a saga. */
    private readonly children: RunChildren | undefined,
    private readonly invoke: Invoker,
    private readonly ports: SagaRunPorts,
  ) {}

  get size(): number {
    return this.attempts.length;
  }

  get all(): readonly StepAttempt[] {
    return this.attempts;
  }

  has(attempt: StepAttempt): boolean {
    return this.attempts.includes(attempt);
  }

  /** Is an attempt of this step, or item, in progress? */
  includes(key: string): boolean {
    return this.attempts.some(({ step }) => step === key);
  }

  /** The run does not wait for them any more. */
  clear(): void {
    this.attempts = NOTHING;
  }

  start(action: Action): void {
    const attempt = this.attemptFor(action);
    if (this.attempts === NOTHING) this.attempts = [attempt];
    else this.attempts.push(attempt);
    void this.outcomeOf(attempt).then(
      (outcome) => this.settled(attempt, outcome),
      (error: unknown) => {
        this.run.fenceAfter(error);
        this.ended(attempt, undefined);
      },
    );
  }

  /** Evaluates the functions of times, `when` and `forEach`, which come before the first attempt. True: their outcome takes its place. */
  startsEvaluation(action: Action): boolean {
    const { when, forEach, delayOf, wait } = action.node;
    if (action.kind === 'miss-reply') {
      const request = this.attemptFor({ ...action, kind: 'compensate' });
      this.inbox.put({ event: this.ports.attempts.unanswered(request) });
      return true;
    }
    if (!when && !forEach && !delayOf && !wait?.timeoutOf) return false;
    const key = `${action.key}~${stepState(this.run.state, action.key).round}`;
    const answer = this.later?.has(key) ? this.later.get(key) : this.ask(action, key);
    if (answer instanceof Promise) return true;
    if (answer === undefined) return false;
    // Once: with these events, the step is asked something else. When its signal has come, its method is to run.
    this.later?.delete(key);
    for (const event of answer) this.inbox.put({ event });
    return true;
  }

  private ask(action: Action, key: string): FirstAnswer | Promise<FirstAnswer> {
    const asked = askFirst(this.attemptFor(action), this.run.state, this.ports);
    if (!(asked instanceof Promise)) return asked;
    const later = (this.later ??= new Map<string, FirstAnswer | Promise<FirstAnswer>>());
    later.set(key, asked);
    // The saga goes on meanwhile, and asks for the answer when it decides again.
    void asked.then((answer) => {
      later.set(key, answer);
      this.inbox.put({ wake: true });
    });
    return asked;
  }

  /** What functions of the definition are given before an attempt. */
  contextFor(action: Action): StepContext {
    return this.attemptFor(action).context() as StepContext;
  }

  private attemptFor(action: Action): StepAttempt {
    const { run, ports } = this;
    return new StepAttempt(action, run.saga, run.state, ports.clock.monotonic(), ports, run);
  }

  /** Resolves to the outcome. Undefined: it is stored already. */
  private outcomeOf(attempt: StepAttempt): Promise<SagaEvent | SagaEvent[] | undefined> {
    const { kind, node } = attempt.action;
    if (startsSaga(node) && kind !== 'compensate') return this.children!.attempt(attempt, this.run.state);
    return node.transactional
      ? attemptInTransaction(attempt, this.invoke, this.run, this.ports)
      : this.ports.attempts.run(attempt, this.invoke);
  }

  /** The next attempt may be another worker's: it is to find the last heartbeat of one that failed. */
  private settled(attempt: StepAttempt, outcome: SagaEvent | SagaEvent[] | undefined): void {
    const end = () => this.ended(attempt, outcome);
    if (this.run.hasUnsavedReports && outcome && !Array.isArray(outcome) && isFailure(outcome))
      void this.run.storeReports().then(end);
    else end();
  }

  private ended(attempt: StepAttempt, outcome: SagaEvent | SagaEvent[] | undefined): void {
    this.delete(attempt);
    const [event, ...more] = Array.isArray(outcome) ? outcome : [outcome];
    this.inbox.put(event ? { attempt, event } : { wake: true });
    for (const further of more) this.inbox.put({ event: further! });
  }

  private delete(attempt: StepAttempt): void {
    const place = this.attempts.indexOf(attempt);
    if (place < 0) return;
    if (this.attempts.length === 1) this.clear();
    else this.attempts.splice(place, 1);
  }

  abort(trigger: StepAbortedError['trigger'], message: string, only?: Action['kind']): void {
    for (const attempt of this.attempts) {
      if (only === undefined || attempt.action.kind === only)
        attempt.abort(new StepAbortedError(message, trigger));
    }
  }

  /** Not while a pivot decides whether the saga is cancelled: its attempt, and those beside it, go on. */
  abortCancelled({ status }: SagaState): void {
    if (status === 'compensating') this.abort('cancelled', 'The saga is being cancelled', 'run');
  }

  /**
   * What is in progress going forward and not wanted any more: the saga compensates, or another branch was faster.
   * Not probes: what they find out is what has to be undone.
   */
  abortObsolete(graph: SagaGraph, state: SagaState): void {
    for (const attempt of this.attempts) {
      const { kind, node } = attempt.action;
      if (kind === 'run' && !goesOn(graph, state, node.name))
        attempt.abort(new StepAbortedError(whyObsolete(state, node.name), 'cancelled'));
    }
  }
}

function whyObsolete(state: SagaState, step: string): string {
  return stepState(state, step).continued
    ? 'Another item failed permanently, and the saga continues without this step, so that it is cancelled'
    : 'Another branch completed first, so that this step is cancelled';
}
