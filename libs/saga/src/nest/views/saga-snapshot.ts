import type { AttemptError, SagaFailure } from '../../definition/types/saga-failure.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import { approvalSignal, indexOfKey, itemKey, type SagaGraph } from '../../definition/graph/saga-graph.js';
import type { InputOf, ResultsOf } from '../../definition/types/contexts.js';
import type { Serialized } from '../../shared/serialized.js';
import { decide } from '../../machine/decide.js';
import { undecidedPivot } from '../../machine/pivots.js';
import { mapSteps } from '../../machine/step-changes.js';
import { gaveUp } from '../../engine/operate/operator-edits.js';
import { liveState, runningSince } from '../../engine/run/live-state.js';
import { isNearRetry } from '../../engine/run/near-retry.js';
import { awaitedBy } from '../../engine/run/run-children.js';
import { describeStep } from '../../machine/describe-step.js';
import { decodePayload, samePayload } from '../../engine/payload/payload.js';
import { decodeResults } from '../../engine/payload/decode-results.js';
import type { StoredSaga, StoredSummary } from '../../engine/ports/saga-store.js';
import type { SettledSaga } from '../../engine/worker/outcome-waiters.js';
import {
  awaitsSignal,
  isTerminal,
  type LostAttempt,
  PENDING,
  resultOf,
  type SagaState,
  type StepState,
} from '../../machine/saga-state.js';
import { type StepStatus } from '../../definition/types/saga-status.js';
import { type SagaStatus } from '../../definition/types/saga-status.js';

/** What a saga came to, or that it needs a person (`stuck`, `suspended`). */
export interface SagaOutcome<S = unknown> {
  /** The saga's id. */
  readonly id: string;
  /** What it came to, or that it needs a person. */
  readonly status: SagaStatus;
  /** Of the steps that completed and were not undone, in their stored form. */
  readonly results: Partial<ResultsOf<S>>;
  /** What made it turn back, or stop; absent: it completed. */
  readonly failure?: SagaFailure;
}

/** A step of a saga, or an item of one. */
export interface StepSnapshot {
  /** The step's name, which is its method's. */
  readonly name: string;
  /** What has become of it. */
  readonly status: StepStatus;
  /** Attempts begun, those lost with their worker included. */
  readonly attempts: number;
  /** Attempts of its compensation begun. */
  readonly compensationAttempts: number;
  /** Some attempt may have taken effect without anyone knowing. */
  readonly unknown: boolean;
  /** 1; more after a rollback to a savepoint before it. */
  readonly round: number;
  /** What it returned, in its stored form; absent: nothing, or not yet. */
  readonly result?: unknown;
  /** Of a fan-out: its items, in order; `name` is the step's with the index. */
  readonly items?: readonly StepSnapshot[];
  /** The last few failed attempts, oldest first. */
  readonly errors: readonly AttemptError[];
  /** The last few attempts that were lost with their worker, oldest first; absent: none. */
  readonly lost?: readonly LostAttemptSnapshot[];
  /** Of a step that runs, or is compensated, right now: when that attempt began, at the earliest. */
  readonly runningSince?: Date;
  /** Of a sub-saga step: the saga that it started. */
  readonly child?: string;
  /** When it is tried again, or its delay is over. */
  readonly retryAt?: Date;
  /** When something about it was first recorded. */
  readonly startedAt?: Date;
  /** When something about it was last recorded. */
  readonly updatedAt?: Date;
}

/** An attempt without an outcome: its worker died, or lost the lease, or was shut down. It may have taken effect. */
export interface LostAttemptSnapshot {
  /** 1, 2, … */
  readonly attempt: number;
  /** Whether it was an attempt of the step, or of its compensation. */
  readonly during: 'step' | 'compensation';
  /** The worker that was lost; absent: it let go of the attempt when it was shut down. */
  readonly worker?: string;
  /** When the attempt began, at the earliest. */
  readonly startedAt?: Date;
  /** When the lease ran out, or the worker let go of the attempt. */
  readonly lostAt: Date;
  /** When another worker took the saga over. */
  readonly takenOverAt?: Date;
}

/** The steps of a saga, each with its own name and the result that the saga's class declares; of an unknown class, any. */
export type StepSnapshotOf<S> = unknown extends S
  ? StepSnapshot
  : {
      [K in keyof ResultsOf<S> & string]: StepSnapshot & {
        /** The step's name, which is its method's. */
        readonly name: K;
        /** What it returned, in its stored form; absent: nothing, or not yet. */
        readonly result?: ResultsOf<S>[K];
      };
    }[keyof ResultsOf<S> & string];

/** Why a saga does not move right now. */
export type WaitingFor =
  | { readonly kind: 'retry'; readonly step: string; readonly at: Date }
  | { readonly kind: 'delay'; readonly step?: string; readonly until: Date }
  /** It is due, and no worker has taken it yet: all are busy. */
  | { readonly kind: 'worker'; readonly since: Date }
  /** It is due, and this application does not have its saga in this version: no worker has it, unless another application does. */
  | { readonly kind: 'version'; readonly saga: string; readonly version: number; readonly since: Date }
  /** Its semantic lock is another's: the one that holds it, or is next to. */
  | { readonly kind: 'lock'; readonly key: string; readonly holder: string }
  /** The saga that this step started has to come to its end. */
  | { readonly kind: 'sub-saga'; readonly step: string; readonly id: string }
  /** The handler of this remote step works on it, or waits for something itself: `get(id)` says for what. */
  | ({ readonly kind: 'remote-step' } & AskedHandler)
  /**
   * No worker has taken this remote step since. `deployed`: those that have the handler are stopped or busy; otherwise
   * no process that has it was ever started over this database. The saga goes on once one has.
   */
  | ({ readonly kind: 'handler'; readonly since: Date; readonly deployed: boolean } & AskedHandler)
  /** A signal of this name has to come, at most until then. */
  | { readonly kind: 'signal'; readonly step: string; readonly signal: string; readonly until?: Date }
  /** A person has to approve this step, or reject it, at most until then. */
  | { readonly kind: 'approval'; readonly step: string; readonly until?: Date }
  /** Somebody has paused it, or has asked to: then it stands still once what is under way has come to its end. */
  | { readonly kind: 'paused'; readonly by?: string; readonly reason?: string }
  /** It is due, and as many of its name as its `concurrency` allows are being advanced. */
  | { readonly kind: 'concurrency'; readonly limit: number; readonly since: Date }
  | { readonly kind: 'person'; readonly steps: readonly string[] };

/** A handler that a remote step has asked for, and the saga in which it runs. */
export interface AskedHandler {
  /** The step that asks. */
  readonly step: string;
  /** The handler's name. */
  readonly handler: string;
  /** The version of the handler that is asked for. */
  readonly version: number;
  /** The saga in which the handler runs, or will. */
  readonly id: string;
}

/** A saga in a list. */
export interface SagaSummary {
  /** Its id, a UUID. */
  readonly id: string;
  /** The saga's name. */
  readonly saga: string;
  /** The version of its graph. */
  readonly version: number;
  /** Where it is in its life. */
  readonly status: SagaStatus;
  /**
   * Of a saga that is `stuck`, `suspended` or `paused`: the direction in which it stopped, and goes on when an operator
   * retries or resumes it. `compensating`: the compensation of `step` failed, not the step.
   */
  readonly stuckIn?: 'running' | 'compensating';
  /** The application's name for it; its id, unless it was started with one. */
  readonly correlationId: string;
  /** Rises with every change; what an operator's `expects` names. */
  readonly revision: number;
  /** Where it stands: the steps under way or next. */
  readonly step: string;
  /** The message of its last error. */
  readonly error?: string;
  /** As it was started with. */
  readonly tags: Readonly<Record<string, string>>;
  /** When it was stored. */
  readonly createdAt: Date;
  /** When it last changed. */
  readonly updatedAt: Date;
  /** When it ended; absent: it has not. */
  readonly finishedAt?: Date;
}

/** A rollback that waits for the outcome of a pivot. */
export interface PendingRollback {
  /** What calls for the rollback. */
  readonly failure: SagaFailure;
  /** The pivot whose outcome decides; empty: this application does not have the saga. */
  readonly step: string;
}

/** A rollback that was called for and did not happen, since a pivot completed. */
export interface OvertakenRollback {
  /** What called for the rollback: `cancelled`, or `timeout` for the deadline of the saga. */
  readonly kind: SagaFailure['kind'];
  /** Why, if the call said so. */
  readonly reason?: string;
  /** The pivot that completed. */
  readonly step: string;
}

/**
 * What `get()` returns of a saga that it is asked for by its class. An instance of another version may have another input
 * and other results.
 */
export type SagaSnapshotOf<S> = SagaSnapshot<Serialized<InputOf<S>>, StepSnapshotOf<S>>;

/** A saga in full, as it was stored at one moment. `SagaSnapshotOf` is that of a saga's class. */
export interface SagaSnapshot<Input = unknown, Step = StepSnapshot> {
  /** Its id, a UUID. */
  readonly id: string;
  /** The saga's name. */
  readonly saga: string;
  /** The version of its graph. */
  readonly version: number;
  /** Where it is in its life. */
  readonly status: SagaStatus;
  /**
   * Of a saga that is `stuck`, `suspended` or `paused`: the direction in which it stopped, and goes on when an operator
   * retries or resumes it. `compensating`: a compensation failed, not a step.
   */
  readonly stuckIn?: 'running' | 'compensating';
  /** Rises with every change; what an operator's `expects` names. */
  readonly revision: number;
  /** The application's name for it; its id, unless it was started with one. */
  readonly correlationId: string;
  /** In its stored form. */
  readonly input: Input;
  /**
   * The input that it was started with, in its stored form, if `retry({ input })` has replaced it by another since. Repeated
   * starts are compared with this one. Absent: it is `input`.
   */
  readonly startedInput?: Input;
  /** 0 to 100, as it was started with. */
  readonly priority: number;
  /** As it was started with. */
  readonly tags: Readonly<Record<string, string>>;
  /** Where it stands: the steps under way or next, by name; empty when nothing is left to do. */
  readonly step: string;
  /** In the order of the graph; those that nothing has happened to are pending. */
  readonly steps: readonly Step[];
  /** 1; one more after each rollback to a savepoint. */
  readonly round: number;
  /** What made it turn back, or stop; absent: nothing. */
  readonly failure?: SagaFailure;
  /** A rollback that waits for the outcome of a pivot: it begins if that fails, and is dropped if it completes. */
  readonly pendingRollback?: PendingRollback;
  /** A cancellation, or the saga's `timeout`, that came while this pivot was in progress, which then completed. */
  readonly overtaken?: OvertakenRollback;
  /** The saga that waits for this one, and its step. */
  readonly parent?: { readonly id: string; readonly step: string };
  /** Why it does not move right now; absent: it does, or has ended. */
  readonly waitingFor?: WaitingFor;
  /** When it is overdue, by the `sla` of its saga. */
  readonly slaAt?: Date;
  /** It has not finished by then. */
  readonly overdue: boolean;
  /** The worker that holds it. */
  readonly lockedBy?: string;
  /** When it was stored. */
  readonly createdAt: Date;
  /** When it last changed. */
  readonly updatedAt: Date;
  /** When it ended; absent: it has not. */
  readonly finishedAt?: Date;
}

export function toOutcome<S>({ id, state }: SettledSaga): SagaOutcome<S> {
  return {
    id,
    status: state.status,
    results: decodeResults(state) as Partial<ResultsOf<S>>,
    ...(state.failure && { failure: state.failure }),
  };
}

export function toSummary(row: StoredSummary): SagaSummary {
  return {
    id: row.id,
    saga: row.name,
    version: row.version,
    status: row.status,
    stuckIn: row.stuckIn,
    revision: row.revision,
    correlationId: row.correlationId ?? row.id,
    step: row.step,
    error: row.error,
    tags: row.tags ?? {},
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
    finishedAt: toDate(row.finishedAt),
  };
}

/** What a saga is shown with that is not its own. */
export interface Surroundings {
  /** Undefined: this process does not know the saga's version, so only recorded steps are shown. */
  readonly graph: SagaGraph | undefined;
  readonly now: number;
  /** The `concurrency` of its name. */
  readonly limit?: number;
  /** Of the remote step that it waits for: the saga of the handler, and whether any process ever had that. */
  readonly remote?: { readonly saga: StoredSaga; readonly deployed: boolean };
}

export function toSnapshot(saga: StoredSaga, around: Surroundings): SagaSnapshot {
  const { graph, now } = around;
  const live = graph ? liveState(saga, graph, now) : saga.state;
  const recorded = [...live.steps.keys()].filter((key) => indexOfKey(key) === undefined);
  const names = new Set([...(graph?.steps.keys() ?? []), ...recorded]);
  return {
    id: saga.id,
    saga: saga.name,
    version: saga.version,
    status: saga.state.status,
    stuckIn: saga.state.stuckIn,
    revision: saga.checkpoints,
    correlationId: saga.correlationId ?? saga.id,
    input: decodePayload(saga.input),
    ...startedInputOf(saga),
    priority: saga.priority,
    tags: saga.tags ?? {},
    step: graph ? standsAt(saga, graph, now) : '',
    round: saga.state.round,
    steps: [...names].map((name) => toStepSnapshot(saga, live, name)),
    failure: saga.state.failure,
    ...pendingOf(saga, graph),
    ...(saga.state.overtaken && { overtaken: saga.state.overtaken }),
    ...(saga.parent && { parent: saga.parent }),
    waitingFor: waitingFor(saga, around),
    slaAt: toDate(saga.slaAt),
    overdue: saga.slaAt !== undefined && saga.slaAt <= (saga.finishedAt ?? now),
    lockedBy: saga.lockedBy,
    createdAt: new Date(saga.createdAt),
    updatedAt: new Date(saga.updatedAt),
    finishedAt: toDate(saga.finishedAt),
  };
}

function startedInputOf({ input, startedWith }: StoredSaga): Pick<SagaSnapshot, 'startedInput'> {
  if (!startedWith || samePayload(startedWith.input, input)) return {};
  return { startedInput: decodePayload(startedWith.input) };
}

function pendingOf({ state }: StoredSaga, graph: SagaGraph | undefined): Partial<SagaSnapshot> {
  const { pendingRollback } = state;
  if (!pendingRollback) return {};
  const { failure, rollbackTo } = pendingRollback;
  const step = graph && undecidedPivot(graph, state, rollbackTo);
  return { pendingRollback: { failure, step: step ?? '' } };
}

/** As its worker knows it, what is recorded as running is under way. */
function standsAt({ state, lockedBy }: StoredSaga, graph: SagaGraph, now: number): string {
  const underWay = (step: StepState) => step.status === 'running' && step.items === undefined;
  const live =
    lockedBy === undefined
      ? state
      : mapSteps(state, (step) => (underWay(step) ? { ...step, active: true } : step));
  // Of one that stands still: where it would go on.
  const going = live.status === 'paused' ? { ...live, status: live.stuckIn! } : live;
  return describeStep(live, decide(graph, going, now));
}

function toStepSnapshot(saga: StoredSaga, live: SagaState, name: string): StepSnapshot {
  const step: StepState = live.steps.get(name) ?? PENDING;
  const since = step.active ? runningSince(saga, name) : undefined;
  const times = saga.stepTimes.get(name);
  return {
    name,
    status: step.status,
    attempts: step.attempts,
    compensationAttempts: step.compensationAttempts,
    unknown: step.unknown,
    round: step.round,
    result: decodePayload(resultOf(live, name)),
    errors: step.errors,
    ...(step.items && {
      items: step.items.map((_, index) => toStepSnapshot(saga, live, itemKey(name, index))),
    }),
    ...(step.lost && { lost: step.lost.map(toLostAttempt) }),
    ...(since !== undefined && { runningSince: new Date(since) }),
    ...(step.child && { child: step.child.id }),
    retryAt: toDate(step.retryAt),
    startedAt: toDate(times?.startedAt ?? since),
    updatedAt: toDate(times?.updatedAt),
  };
}

function toLostAttempt({ startedAt, lostAt, takenOverAt, ...lost }: LostAttempt): LostAttemptSnapshot {
  return {
    ...lost,
    ...(startedAt !== undefined && { startedAt: new Date(startedAt) }),
    lostAt: new Date(lostAt),
    ...(takenOverAt !== undefined && { takenOverAt: new Date(takenOverAt) }),
  };
}

function waitingFor(saga: StoredSaga, around: Surroundings): WaitingFor | undefined {
  const { graph, now, limit, remote } = around;
  const { status, steps } = saga.state;
  // Steps of one that was aborted stay as they were.
  if (isTerminal(status)) return undefined;
  if (status === 'paused') return paused(saga);
  if (status === 'stuck' || status === 'suspended') {
    return { kind: 'person', steps: [...new Set(gaveUp(saga, graph))] };
  }
  const { lock } = saga;
  if (lock?.holder !== undefined) return { kind: 'lock', key: lock.key, holder: lock.holder };
  const [awaited] = awaitedBy(saga.state);
  if (awaited && saga.lockedBy === undefined && !(saga.dueAt! <= now))
    return remote ? handlerOrItsStep(awaited.step, remote, now) : { kind: 'sub-saga', ...awaited };
  const waits = signalAwaitedBy(saga);
  if (waits && saga.lockedBy === undefined && !(saga.dueAt! <= now)) return waits;
  if (saga.dueAt === undefined) return undefined;
  const isHeld = saga.lockedBy !== undefined && saga.dueAt > now;
  if (isHeld && !(graph && keepsForRetry(saga, graph, now))) return undefined;
  if (saga.dueAt <= now) {
    const since = new Date(saga.dueAt);
    const isCrowded = limit !== undefined && (saga.slotsTaken ?? 0) >= limit;
    if (isCrowded) return { kind: 'concurrency', limit, since };
    return graph
      ? { kind: 'worker', since }
      : { kind: 'version', saga: saga.name, version: saga.version, since };
  }
  const later = [...steps].filter(([, s]) => s.retryAt !== undefined && s.retryAt > now);
  const [key, step] = later.sort(([, a], [, b]) => a.retryAt! - b.retryAt!)[0] ?? [];
  return step && step.attempts > 0
    ? { kind: 'retry', step: key!, at: new Date(step.retryAt!) }
    : { kind: 'delay', step: key, until: new Date(step?.retryAt ?? saga.dueAt) };
}

/** The worker that has it waits itself. What is under way is still to be done, as far as is stored. */
function keepsForRetry({ state }: StoredSaga, graph: SagaGraph, now: number): boolean {
  const next = decide(graph, state, now);
  return next.actions.length === 0 && isNearRetry(next, state, now);
}

function paused({ operations }: StoredSaga): WaitingFor {
  const last = operations?.findLast(({ action }) => action === 'pause');
  return {
    kind: 'paused',
    ...(last?.by !== undefined && { by: last.by }),
    ...(last?.reason !== undefined && { reason: last.reason }),
  };
}

function signalAwaitedBy({ state }: StoredSaga): WaitingFor | undefined {
  for (const [step, { wait }] of [...state.steps].filter(([, one]) => awaitsSignal(one))) {
    const { signal } = wait!;
    const until = wait!.until === undefined ? {} : { until: new Date(wait!.until) };
    return signal === approvalSignal(step)
      ? { kind: 'approval', step, ...until }
      : { kind: 'signal', step, signal, ...until };
  }
  return undefined;
}

function handlerOrItsStep(
  step: string,
  { saga, deployed }: NonNullable<Surroundings['remote']>,
  now: number,
): WaitingFor {
  const { id, version, dueAt } = saga;
  const asked = { step, handler: handlerOf(saga.name)!, version, id };
  // Also of one whose lease ran out.
  return dueAt !== undefined && dueAt <= now
    ? { kind: 'handler', ...asked, since: new Date(dueAt), deployed }
    : { kind: 'remote-step', ...asked };
}

function toDate(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
