import type { ObservedEvent } from '../../definition/types/observed-event.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { needsOperator, type SagaState } from '../../machine/saga-state.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { StepAbortedError } from '../../errors.js';
import { logAttention } from './attention-log.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { AttemptWatch, Instrument, MeasuredAttempt } from './instrument.js';
import { headOf, type NamedSaga, observedChanges, type ObservedSaga } from './observed-changes.js';
import type { StartResult } from '../ports/saga-store.js';
import type { NewSaga } from '../ports/stored-saga.js';
import { serializeError } from '../payload/serialize-error.js';
import { TRACE_TAG } from './trace-context.js';

export type SagaObserver = (event: ObservedEvent) => void;

type Start = Omit<NewSaga, 'leased'>;

/**
 * Passes events of the sagas of this process to observers and instruments, once they are stored. The engine does not
 * wait for them. An error that they throw is logged. Without observers, no events are derived.
 */
export class SagaObservers {
  private observers: readonly SagaObserver[] = [];
  private hints: readonly ((id: string) => void)[] = [];
  /** Undefined: nothing is measured. */
  private instrument: Instrument | undefined;

  constructor(
    private readonly log: EngineLog,
    /** False: logs and spans leave out what the errors of sagas say, since a codec encodes it in the database. */
    readonly showsMessages = true,
  ) {}

  /** What a log says of an error that a function of a saga threw. */
  textOf(error: unknown): string {
    const { name, message } = serializeError(error);
    return this.showsMessages ? message : name;
  }

  add(observer: SagaObserver): void {
    this.observers = [...this.observers, observer];
  }

  /** Calls this with the id of each saga of which something was stored by this process. */
  hintTo(hint: (id: string) => void): void {
    this.hints = [...this.hints, hint];
  }

  measureBy(instrument: Instrument): void {
    this.instrument = instrument;
  }

  /**
   * The later of two states is stored. That a saga needs an operator is an error in the log of the process that stored it.
   * @param graph undefined: this process does not have it
   */
  changed(
    saga: ObservedSaga,
    [before, after]: readonly [SagaState, SagaState],
    at: number,
    graph: SagaGraph | undefined,
  ): void {
    for (const hint of this.hints) hint(saga.id);
    if (this.isObserved) for (const event of observedChanges(saga, before, after, at)) this.tell(event, saga);
    const { status } = after;
    if (status !== before.status && needsOperator(status))
      this.safely(() => logAttention({ saga, state: after, graph }, this.showsMessages, this.log));
  }

  /** A worker begins with a saga that nothing has happened to. */
  started(saga: ObservedSaga, at: number): void {
    for (const hint of this.hints) hint(saga.id);
    if (this.isObserved) this.tell({ type: 'started', ...headOf(saga, 'running', at) }, saga);
  }

  /** Reports that a saga was not finished within its `sla`. */
  overdue(saga: NamedSaga & { readonly status: SagaStatus }, at: number): void {
    if (this.isObserved) this.tell({ type: 'overdue', ...headOf(saga, saga.status, at) });
  }

  /** Stores a saga, with the trace that its start belongs to. */
  start(saga: Start, store: (saga: Start) => Promise<StartResult>): Promise<StartResult> {
    return this.instrument ? this.measuredStart(this.instrument, saga, store) : store(saga);
  }

  private async measuredStart(
    instrument: Instrument,
    saga: Start,
    store: (saga: Start) => Promise<StartResult>,
  ): Promise<StartResult> {
    const watch = this.safely(() => instrument.starting(saga));
    const { traceparent } = watch ?? {};
    try {
      const traced = traceparent === undefined ? saga.tags : { [TRACE_TAG]: traceparent, ...saga.tags };
      const result = await store({ ...saga, tags: traced });
      this.safely(() => watch?.ended(result));
      return result;
    } catch (error) {
      this.safely(() => watch?.failed(error));
      throw error;
    }
  }

  /** Undefined: the attempt is not measured. */
  attempting(attempt: () => MeasuredAttempt): AttemptWatch | undefined {
    const { instrument } = this;
    return instrument && this.safely(() => instrument.attempting(attempt()));
  }

  ended(
    watch: AttemptWatch,
    event: SagaEvent,
    brokenOff: boolean,
    abortedBy?: StepAbortedError['trigger'],
  ): void {
    this.safely(() => watch.ended(event, brokenOff, abortedBy));
  }

  /** Passes a call on to the instrument, if there is one. */
  measure<Call extends keyof Instrument>(call: Call, ...given: Parameters<Instrument[Call]>): void {
    const { instrument } = this;
    if (instrument)
      this.safely(() => (instrument[call] as (...given: Parameters<Instrument[Call]>) => unknown)(...given));
  }

  private get isObserved(): boolean {
    return this.observers.length > 0 || this.instrument !== undefined;
  }

  private tell(event: ObservedEvent, saga?: ObservedSaga): void {
    if (saga) this.safely(() => this.instrument?.happened(event, saga));
    for (const observe of this.observers) this.safely(() => observe(event));
  }

  private safely<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      this.log.error(`An observer of sagas failed: ${serializeError(error).message}`);
      return undefined;
    }
  }
}
