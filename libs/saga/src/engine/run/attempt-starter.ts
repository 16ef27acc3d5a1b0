import { startsSaga } from '../../definition/graph/saga-graph.js';
import type { StepContext } from '../../definition/types/contexts.js';
import type { Action } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { askFirst, type FirstAnswer } from '../attempt/evaluate-conditions.js';
import { StepAttempt } from '../attempt/step-attempt.js';
import { attemptInTransaction, isFailure, type TransactionHost } from '../attempt/transactional-attempt.js';
import type { ReportKeeper } from '../attempt/attempt-reports.js';
import type { Invoker } from '../ports/invoker.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { Inbox } from './inbox.js';
import type { RunAttempts } from './run-attempts.js';
import type { RunChildren } from './run-children.js';
import type { RunRequests } from './run-requests.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** What a run waits for: the outcome of an attempt, another event, or a reason to decide again. */
export type RunMessage =
  | { readonly attempt?: StepAttempt; readonly event: SagaEvent }
  | { readonly wake: true };

/** The run whose attempts are started. */
export interface AttemptingRun extends TransactionHost, ReportKeeper {
  readonly saga: StoredSaga;
  readonly state: SagaState;
  readonly attempts: RunAttempts;
  readonly inbox: Inbox<RunMessage>;
  /** Undefined: no step starts a saga. */
  readonly children: RunChildren | undefined;
  /** Steps have reported something that is not stored. */
  readonly hasUnsavedReports: boolean;
  /** Stores them, unless that fails: then the next renewal of the lease does. */
  storeReports(): Promise<void>;
  readonly requests: RunRequests;
  /** The store failed, and it is unknown what is stored. */
  fenceAfter(error: unknown): void;
}

/** Starts the attempts of one run. Their outcomes arrive in its inbox. */
export class AttemptStarter {
  /** Answers that arrive later, by step and round: while they are promises, they have not arrived. */
  private later: Map<string, FirstAnswer | Promise<FirstAnswer>> | undefined;

  constructor(
    private readonly run: AttemptingRun,
    private readonly invoke: Invoker,
    private readonly ports: SagaRunPorts,
  ) {}

  start(action: Action): void {
    const attempt = this.attemptFor(action);
    this.run.attempts.add(attempt);
    void this.outcomeOf(attempt).then(
      (events) => this.settled(attempt, events),
      (error: unknown) => {
        this.run.fenceAfter(error);
        this.ended(attempt, undefined);
      },
    );
    if (action.kind === 'run' && this.run.requests.cancelAsked)
      this.run.attempts.abortCancelled(this.run.state);
  }

  /** Evaluates the functions of times, `when` and `forEach`, which come before the first attempt. True: their outcome takes its place. */
  evaluatesFirst(action: Action): boolean {
    const { when, forEach, delayOf, wait } = action.node;
    if (action.kind === 'miss-reply') {
      const request = this.attemptFor({ ...action, kind: 'compensate' });
      this.run.inbox.put({ event: this.ports.attempts.unanswered(request) });
      return true;
    }
    if (!when && !forEach && !delayOf && !wait?.timeoutOf) return false;
    const key = `${action.key}~${stepState(this.run.state, action.key).round}`;
    const answer = this.later?.has(key) ? this.later.get(key) : this.ask(action, key);
    if (answer instanceof Promise) return true;
    if (answer === undefined) return false;
    // Once: with these events, the step is asked something else. When its signal has come, its method is to run.
    this.later?.delete(key);
    for (const event of answer) this.run.inbox.put({ event });
    return true;
  }

  private ask(action: Action, key: string): FirstAnswer | Promise<FirstAnswer> {
    const { maxPayloadBytes, now } = this.ports;
    const asked = askFirst(this.attemptFor(action), this.run.state, { maxPayloadBytes, now });
    if (!(asked instanceof Promise)) return asked;
    const later = (this.later ??= new Map<string, FirstAnswer | Promise<FirstAnswer>>());
    later.set(key, asked);
    // The saga goes on meanwhile, and asks for the answer when it decides again.
    void asked.then((answer) => {
      later.set(key, answer);
      this.run.inbox.put({ wake: true });
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
    if (startsSaga(node) && kind !== 'compensate') return this.run.children!.attempt(attempt, this.run.state);
    return node.transactional
      ? attemptInTransaction(attempt, this.invoke, this.run, this.ports)
      : this.ports.attempts.run(attempt, this.invoke);
  }

  /** The next attempt may be another worker's: it is to find the last heartbeat of one that failed. */
  private settled(attempt: StepAttempt, outcome: SagaEvent | SagaEvent[] | undefined): void {
    const { run } = this;
    const end = () => this.ended(attempt, outcome);
    if (run.hasUnsavedReports && outcome && !Array.isArray(outcome) && isFailure(outcome))
      void run.storeReports().then(end);
    else end();
  }

  private ended(attempt: StepAttempt, outcome: SagaEvent | SagaEvent[] | undefined): void {
    this.run.attempts.delete(attempt);
    const [event, ...more] = Array.isArray(outcome) ? outcome : [outcome];
    this.run.inbox.put(event ? { attempt, event } : { wake: true });
    for (const further of more) this.run.inbox.put({ event: further! });
  }
}
