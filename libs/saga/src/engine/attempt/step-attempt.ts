import { errorOf } from '../../machine/attempt-errors.js';
import type { CompensationContext, ProgressReport, StepContext } from '../../definition/types/contexts.js';
import type { OutboxMessage } from '../../definition/types/outbox-message.js';
import type { SagaFailure } from '../../definition/types/saga-failure.js';
import type { Action } from '../../machine/plan.js';
import { type SagaState, type StepState, stepState } from '../../machine/saga-state.js';
import type { StepAbortedError } from '../../errors.js';
import { stepOfKey } from '../../definition/graph/saga-graph.js';
import { decodeResults } from '../payload/decode-results.js';
import { askingSaga } from '../ports/handler-calls.js';
import type { LogSubject } from '../ports/engine-log.js';
import { decodePayload } from '../payload/payload.js';
import { changeTags, type TagChanges, type Tags } from '../payload/tags.js';
import type { MeasuredAttempt } from '../observe/instrument.js';
import type { StepTransaction } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { Clock } from '../../shared/clock.js';
import { reportKey } from '../ports/step-reports.js';
import { AttemptReports, type ReportKeeper, type ReportPlace } from './attempt-reports.js';
import { type PublishPorts, StepMessages } from './step-messages.js';

export interface AttemptPorts extends PublishPorts {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly now: () => number;
}

/** One attempt of a step or of a compensation: its context, and the handle by which it is aborted. */
export class StepAttempt {
  /** Why it was aborted, if it was. */
  abortedBy: StepAbortedError | undefined;
  /** What it failed with, if that will not help by being tried again, whatever the policy says. */
  refusal: unknown;
  /** The trace context of what follows from the attempt. Undefined: it is not measured. */
  traceparent: string | undefined;
  /** What its method publishes. */
  readonly messages: StepMessages;
  private controller: AbortController | undefined;
  private ownReports: AttemptReports | undefined;

  constructor(
    readonly action: Action,
    private readonly saga: StoredSaga,
    private readonly state: SagaState,
    /** Monotonic time, milliseconds. */
    readonly startedAt: number,
    private readonly ports: AttemptPorts,
    private readonly keeper: ReportKeeper,
  ) {
    this.messages = new StepMessages(askingSaga(saga), ports, saga.tags);
  }

  /** The step's name, or the item's key. */
  get step(): string {
    return this.action.key;
  }

  get method(): string {
    const { kind, node } = this.action;
    if (kind === 'probe') return node.probe!;
    return kind === 'compensate' ? node.compensate! : node.name;
  }

  /** For the log. */
  get subject(): LogSubject {
    return { sagaId: this.saga.id, saga: this.saga.name, step: this.step };
  }

  /** The tags of its saga. */
  get tags(): StoredSaga['tags'] {
    return this.saga.tags;
  }

  /** The number of the attempt, from 1. */
  get number(): number {
    return attemptOf(this.action.kind, stepState(this.state, this.action.key));
  }

  /** An earlier attempt may have taken effect. */
  get isInDoubt(): boolean {
    return stepState(this.state, this.action.key).unknown;
  }

  /** Milliseconds; undefined: as long as it takes. */
  get timeout(): number | undefined {
    const { kind, node } = this.action;
    return kind === 'compensate' ? (node.compensationTimeout ?? node.timeout) : node.timeout;
  }

  /** As it is measured. */
  measured(): MeasuredAttempt {
    const { saga, method, number: attempt } = this;
    const { kind, node, index } = this.action;
    return { saga, step: node.name, index, method, kind, attempt };
  }

  /** The call of the probe for this attempt: the same attempt, with a signal of its own. */
  probe(): StepAttempt {
    const { action, saga, state, startedAt, ports, keeper } = this;
    return new StepAttempt({ ...action, kind: 'probe' }, saga, state, startedAt, ports, keeper);
  }

  /** The method has been called, and has not ended. */
  get isInProgress(): boolean {
    return this.messages.isOpen;
  }

  get isTransactional(): boolean {
    return this.action.node.transactional;
  }

  /** Milliseconds between two heartbeats; undefined: none is needed. */
  get heartbeat(): number | undefined {
    return this.action.kind === 'run' ? this.action.node.heartbeat : undefined;
  }

  /** Where its step's reports, or those of its step's compensation, are. */
  get reportPlace(): ReportPlace {
    const { kind, node, key } = this.action;
    const { round } = stepState(this.state, node.name);
    return { key: reportKey(key, kind === 'compensate' ? 'compensation' : 'step'), round };
  }

  /** Made on first use: most steps report nothing. */
  get reports(): AttemptReports {
    return (this.ownReports ??= new AttemptReports(this.reportPlace, this, this.keeper, this.ports));
  }

  /** Monotonic time of its last heartbeat. */
  get beatAt(): number | undefined {
    return this.ownReports?.beatAt;
  }

  /** What its step waited for, a copy for each attempt; only going forward. */
  payload(): unknown {
    const { kind, key } = this.action;
    return kind === 'run' ? decodePayload(stepState(this.state, key).wait?.payload) : undefined;
  }

  abort(reason: StepAbortedError): void {
    this.abortedBy ??= reason;
    this.controller?.abort(this.abortedBy);
  }

  /** The run does not wait for the attempt any more: the lease was lost, or the process ends. That is no failure of the step. */
  get isBrokenOff(): boolean {
    const trigger = this.abortedBy?.trigger;
    return trigger === 'lease-lost' || trigger === 'shutdown';
  }

  context(transaction?: StepTransaction): StepContext | CompensationContext {
    return new AttemptContext(this, this.saga, this.state, transaction);
  }

  /** Made on first use: most steps never look, and an AbortController costs more than an empty step. */
  signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.abortedBy) this.controller.abort(this.abortedBy);
    return this.controller.signal;
  }
}

/** What methods see. Payloads are parsed on first use, a copy for each attempt. */
class AttemptContext {
  readonly sagaId: string;
  readonly correlationId: string;
  readonly step: string;
  readonly attempt: number;
  readonly round: number;
  readonly idempotencyKey: string;
  /** Undefined unless the step is transactional. */
  readonly transaction: unknown;
  readonly manager: StepTransaction['manager'];
  declare readonly index: number | undefined;
  declare readonly item: unknown;
  declare readonly result: unknown;
  declare readonly failure: SagaFailure | undefined;
  readonly #attempt: StepAttempt;
  readonly #saga: StoredSaga;
  readonly #state: SagaState;
  #input: { value: unknown } | undefined;
  #results: Record<string, unknown> | undefined;

  constructor(attempt: StepAttempt, saga: StoredSaga, state: SagaState, given: StepTransaction | undefined) {
    const { kind, node, index, key } = attempt.action;
    const step = stepState(state, key);
    const whole = index === undefined ? step : stepState(state, node.name);
    this.#attempt = attempt;
    this.#saga = saga;
    this.#state = state;
    this.sagaId = saga.id;
    this.correlationId = saga.correlationId ?? saga.id;
    this.step = node.name;
    this.attempt = attemptOf(kind, step);
    this.transaction = given?.transaction;
    this.manager = given?.manager;
    this.round = whole.round;
    const again = whole.round > 1 ? `~${whole.round}` : '';
    this.idempotencyKey = `${saga.id}:${key}${again}${kind === 'compensate' ? ':compensate' : ''}`;
    if (index !== undefined) {
      this.index = index;
      this.item = decodePayload(whole.items![index]);
    }
    if (kind === 'compensate') {
      this.result = decodePayload(step.result);
      this.failure = whole.continued ? failureOf(step, whole, key) : (state.failure ?? LOST_RACE);
    }
  }

  get input(): unknown {
    this.#input ??= { value: decodePayload(this.#saga.input) };
    return this.#input.value;
  }

  get tags(): Tags {
    const { tagChanges } = this.#attempt.messages;
    return tagChanges ? changeTags(this.#saga.tags, [tagChanges]) : { ...this.#saga.tags };
  }

  get results(): Record<string, unknown> {
    this.#results ??= decodeResults(this.#state);
    return this.#results;
  }

  /** The epoch of the lease under which this attempt runs. */
  get fencingToken(): bigint {
    return BigInt(this.#saga.epoch);
  }

  publish(message: OutboxMessage): void {
    this.#attempt.messages.publish(message);
  }

  setTags(tags: TagChanges): void {
    this.#attempt.messages.setTags(tags);
  }

  progress(report: ProgressReport): void {
    this.#attempt.reports.progress(report);
  }

  heartbeat(details?: unknown): Promise<void> {
    return this.#attempt.reports.heartbeat(details);
  }

  get lastHeartbeat(): unknown {
    return this.#attempt.reports.last;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal();
  }
}

function attemptOf(kind: Action['kind'], step: StepState): number {
  return kind === 'compensate' ? step.compensationAttempts : step.attempts;
}

/** What the compensations of an optional step receive: its own failure, since the saga has none. */
function failureOf(step: StepState, whole: StepState, key: string): SagaFailure {
  const error = [...step.errors, ...whole.errors].findLast(({ during }) => during === 'step');
  return { kind: 'error', step: error ? key : stepOfKey(key), ...(error && { error: errorOf(error) }) };
}

/** The reason that the compensations of a branch that lost receive while the saga continues. */
const LOST_RACE: SagaFailure = { kind: 'cancelled', reason: 'another branch completed first' };
