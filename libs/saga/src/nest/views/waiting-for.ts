import { fromNow } from '../../shared/duration-text.js';
import { oneLine } from '../../shared/one-line.js';
import { approvalSignal, type SagaGraph, stepOfKey } from '../../definition/graph/saga-graph.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import {
  awaitsReply,
  awaitsSignal,
  awaitsSlot,
  isTerminal,
  needsOperator,
} from '../../machine/saga-state.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { isNearRetry } from '../../machine/near-retry.js';
import { KIND, TIMED } from '../../machine/data/step-kinds.js';
import { ownStepsOfKinds, stepsOfKinds } from '../../machine/data/step-map.js';
import { decide } from '../../machine/decide.js';
import { startTimeOf } from '../../machine/turn.js';
import { holdPaused } from '../../machine/hold-paused.js';
import type { StoredStepPause } from '../../engine/ports/step-pause.js';
import { permanentlyFailed } from '../../engine/operate/operator-edits.js';
import { approvalsOf } from '../../engine/operate/approvals.js';
import { type Awaited, awaitedBy } from '../../machine/sub-sagas.js';

/** What a saga waits for. */
export type WaitingFor =
  | { readonly kind: 'retry'; readonly step: string; readonly at: Date }
  | { readonly kind: 'delay'; readonly step?: string; readonly until: Date }
  /**
   * The rate limit of the step, or of this key of it, admits the next attempt at this time. Without a step: that of the
   * saga lets it begin.
   */
  | { readonly kind: 'rate-limit'; readonly step?: string; readonly key?: string; readonly until: Date }
  /** The saga is due, but no worker has claimed it: all workers are busy, or none is running. */
  | { readonly kind: 'worker'; readonly since: Date }
  /**
   * The saga is due, but this application does not have this version of it. Only a process that has the version can run
   * it.
   */
  | { readonly kind: 'version'; readonly saga: string; readonly version: number; readonly since: Date }
  /** The semantic lock belongs to another saga: `holder` has it, or is next in line for it. */
  | { readonly kind: 'lock'; readonly key: string; readonly holder: string }
  /** The saga that this step started has not ended. With `during`, it was asked to compensate what it had completed. */
  | {
      readonly kind: 'sub-saga';
      readonly step: string;
      readonly id: string;
      readonly during?: 'compensation';
    }
  /** The handler of this remote step runs, or waits for something itself: `get(id)` shows for what. */
  | ({ readonly kind: 'remote-step' } & RemoteHandlerRef)
  /**
   * No worker has claimed this remote step since this time. `deployed`: the processes with the handler are stopped or
   * busy. Otherwise no process with the handler was ever started on this database. The saga continues when one is.
   */
  | ({ readonly kind: 'handler'; readonly since: Date; readonly deployed: boolean } & RemoteHandlerRef)
  /**
   * The step waits for a signal of this name, at most until this time. With `during`, its compensation was requested and
   * waits for the confirmation.
   */
  | {
      readonly kind: 'signal';
      readonly step: string;
      readonly signal: string;
      readonly until?: Date;
      readonly during?: 'compensation';
    }
  /**
   * An operator must approve or reject this step, at most until this time. `quorum`: the number of operators who have to
   * approve it, if it is more than one, with those who have.
   */
  | {
      readonly kind: 'approval';
      readonly step: string;
      readonly until?: Date;
      readonly quorum?: number;
      readonly approvals?: readonly { readonly by: string; readonly comment?: string; readonly at: string }[];
    }
  /** An operator has paused this step for all sagas of the name: no attempt of it begins until it is resumed. */
  | {
      readonly kind: 'paused-step';
      readonly step: string;
      readonly by?: string;
      readonly reason?: string;
      readonly since: Date;
    }
  /** An operator has paused the saga, or has requested the pause, which begins when its running steps have finished. */
  | { readonly kind: 'paused'; readonly by?: string; readonly reason?: string }
  /**
   * The saga is due, but as many sagas of its name, and of its key, are running as its `limit` allows. With a step: as many
   * attempts of that step, and of this key of it, are in progress in all sagas. `limit` is absent if this process does not have the
   * saga's version.
   */
  | {
      readonly kind: 'limit';
      readonly limit?: number;
      readonly step?: string;
      readonly key?: string;
      readonly since: Date;
    }
  | { readonly kind: 'person'; readonly steps: readonly string[] };

/** A handler that a remote step calls, and the saga in which the handler runs. */
export interface RemoteHandlerRef {
  /** The step that calls the handler. */
  readonly step: string;
  /** The handler's name. */
  readonly handler: string;
  /** The version of the handler. */
  readonly version: number;
  /** The id of the saga in which the handler runs. */
  readonly id: string;
  /** The handler was asked to compensate what it had completed. */
  readonly during?: 'compensation';
}

export function toDate(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
/** A step that waits for another saga, as a snapshot shows it. */
function refOf({ step, id, isUndoing }: Awaited) {
  return { step, id, ...(isUndoing && { during: 'compensation' as const }) };
}
/** The remote step for whose handler the saga waits. The handler runs (`remote-step`), or is to be run. */
function handlerAwaitedBy({ state }: StoredSaga, { remote, now }: SnapshotContext): WaitingFor | undefined {
  const [awaited] = awaitedBy(state);
  if (!awaited || !remote) return undefined;
  const { id, name, version, dueAt } = remote.saga;
  const asked = { ...refOf(awaited), handler: handlerOf(name)!, version, id };
  // Also of one whose lease ran out.
  return dueAt !== undefined && dueAt <= now
    ? { kind: 'handler', ...asked, since: new Date(dueAt), deployed: remote.deployed }
    : { kind: 'remote-step', ...asked };
}
/** The step that was first to wait for a signal, a decision, or the reply to its compensation. */
function signalAwaitedBy(saga: StoredSaga): WaitingFor | undefined {
  const { state } = saga;
  const kinds = KIND.waiting | KIND.compensating | TIMED;
  for (const [step, one] of ownStepsOfKinds(state.steps, kinds)) {
    const isReplied = awaitsReply(one);
    if (!isReplied && !awaitsSignal(one)) continue;
    const { signal, until: end, quorum } = one.wait!;
    const until = end === undefined ? {} : { until: new Date(end) };
    if (isReplied) return { kind: 'signal', step, signal, ...until, during: 'compensation' };
    return signal === approvalSignal(step)
      ? {
          ...{ kind: 'approval', step, ...until },
          ...(quorum !== undefined && { quorum, approvals: approvalsOf(saga, step) }),
        }
      : { kind: 'signal', step, signal, ...until };
  }
  return undefined;
}
/** The step, or item, that has waited for a slot of its limit for longest. */
function slotAwaitedBy({ state }: StoredSaga, graph: SagaGraph | undefined): WaitingFor | undefined {
  if (state.status !== 'running') return undefined;
  const queued = [...stepsOfKinds(state.steps, KIND.queued)].filter(([, step]) => awaitsSlot(step));
  const [first] = queued.sort(([, a], [, b]) => a.slot!.since - b.slot!.since);
  if (!first) return undefined;
  const [step, { slot }] = first;
  const limit = graph?.steps.get(stepOfKey(step))?.limit?.count;
  return {
    ...{ kind: 'limit', step, since: new Date(slot!.since) },
    ...(limit !== undefined && { limit }),
    ...(slot!.key !== undefined && { key: slot!.key }),
  };
}
function paused({ operations }: StoredSaga): WaitingFor {
  const last = operations?.findLast(({ action }) => action === 'pause');
  return {
    kind: 'paused',
    ...(last?.by !== undefined && { by: last.by }),
    ...(last?.reason !== undefined && { reason: last.reason }),
  };
}
/** The worker that has it waits itself. What is in progress is still to be done, as far as is stored. */
function keepsForRetry({ state }: StoredSaga, graph: SagaGraph, now: number): boolean {
  const next = decide(graph, state, now);
  return next.actions.length === 0 && isNearRetry(next, state, now);
}
/** The paused step for which the saga waits. What is due goes on first. */
function pausedStepOf(
  saga: StoredSaga,
  { graph, pauses = [], now }: SnapshotContext,
): WaitingFor | undefined {
  if (!graph || pauses.length === 0) return undefined;
  const paused = new Set(pauses.map(({ step }) => step));
  const [action] = holdPaused(graph, decide(graph, saga.state, now), paused).held ?? [];
  const pause = action && pauses.find(({ step }) => step === action.node.name);
  if (!pause) return undefined;
  const { at, ...who } = pause.paused;
  return { kind: 'paused-step', step: pause.step, ...who, since: new Date(at) };
}

/** The step, or item, whose time comes first: of its next attempt, of its rate limit, or of its delay. */
function timeAwaitedBy(saga: StoredSaga, around: SnapshotContext): WaitingFor | undefined {
  if (!isTimed(saga, around)) return undefined;
  const timed = [...stepsOfKinds(saga.state.steps, TIMED)];
  const later = timed.filter(([, { retryAt = 0 }]) => retryAt > around.now);
  const [first] = later.sort(([, a], [, b]) => a.retryAt! - b.retryAt!);
  if (!first) return undefined;
  const [step, { permit, limitKey, retryAt, attempts }] = first;
  if (permit !== undefined && isSameTime(permit, retryAt!)) {
    const key = limitKey === undefined ? {} : { key: limitKey };
    return { kind: 'rate-limit', step, ...key, until: new Date(permit) };
  }
  return attempts > 0
    ? { kind: 'retry', step, at: new Date(retryAt!) }
    : { kind: 'delay', step, until: new Date(retryAt!) };
}

/** The times of a saga whose next turn is to come, and that no worker holds or that its worker keeps for it. */
function isTimed(saga: StoredSaga, { graph, now }: SnapshotContext): boolean {
  if (saga.dueAt === undefined) return false;
  return saga.lockedBy === undefined || (graph !== undefined && keepsForRetry(saga, graph, now));
}

/** A kind of wait. */
interface WaitRow {
  /** As a snapshot shows it. */
  readonly kind: WaitingFor['kind'];
  /** Where what is waited for is stored: a saga that becomes due before looks there again, and continues to wait. */
  readonly storedIn: string;
  /** Who ends it. `time`: the saga is due then, and a worker claims it. All but `time` and `worker` may have no due time. */
  readonly endedBy: 'time' | 'signal' | 'saga' | 'slot' | 'operator' | 'worker';
  /** True: only of a saga that no worker holds, and that is not due. */
  readonly rests?: true;
  /** `compensation`: of the waits of this kind, those of compensations. */
  readonly during?: 'compensation';
  /** What the saga waits for, of this kind or of another one. */
  readonly find: (saga: StoredSaga, around: SnapshotContext) => WaitingFor | undefined;
}

/**
 * The kinds of wait: in this order a saga is asked what it waits for. A kind that is added needs its fields in WaitingFor, a
 * row here, a sentence in SENTENCES, and a scene in the test that tries each operation on each wait (test/sagas/each-wait).
 */
export const WAITS = {
  'paused saga': {
    ...{ kind: 'paused', storedIn: 'instance.status, and operation for who and why', endedBy: 'operator' },
    find: (saga) => (saga.state.status === 'paused' ? paused(saga) : undefined),
  },
  attention: {
    ...{ kind: 'person', storedIn: 'instance.status and failure', endedBy: 'operator' },
    find: (saga, { graph }) =>
      needsOperator(saga.state.status)
        ? { kind: 'person', steps: permanentlyFailed(saga, graph) }
        : undefined,
  },
  'start time': {
    ...{ kind: 'delay', storedIn: 'instance.starts_at', endedBy: 'time' },
    find: ({ state }, { now }) => {
      const until = state.status === 'running' ? startTimeOf(state, now) : undefined;
      return until === undefined ? undefined : { kind: 'delay', until: new Date(until) };
    },
  },
  lock: {
    ...{ kind: 'lock', storedIn: 'instance.lock_state and lock_position', endedBy: 'saga' },
    find: ({ lock }) =>
      lock?.holder === undefined ? undefined : { kind: 'lock', key: lock.key, holder: lock.holder },
  },
  'paused step': {
    ...{ kind: 'paused-step', storedIn: 'step_pause', endedBy: 'operator', rests: true },
    find: pausedStepOf,
  },
  'sub-saga': {
    ...{ kind: 'sub-saga', storedIn: 'step.progress.child', endedBy: 'saga', rests: true },
    find: ({ state }, { remote }) => {
      const [awaited] = awaitedBy(state);
      return awaited && !remote ? { kind: 'sub-saga', ...refOf(awaited) } : undefined;
    },
  },
  'remote step': {
    ...{ kind: 'remote-step', storedIn: 'step.progress.child', endedBy: 'saga', rests: true },
    find: handlerAwaitedBy,
  },
  'remote handler': {
    ...{ kind: 'handler', storedIn: 'step.progress.child', endedBy: 'worker', rests: true },
    find: handlerAwaitedBy,
  },
  signal: {
    ...{ kind: 'signal', storedIn: 'step.progress.wait', endedBy: 'signal', rests: true },
    find: signalAwaitedBy,
  },
  approval: {
    ...{
      kind: 'approval',
      storedIn: 'step.progress.wait, operation and task',
      endedBy: 'signal',
      rests: true,
    },
    find: signalAwaitedBy,
  },
  'compensation reply': {
    ...{
      kind: 'signal',
      during: 'compensation',
      storedIn: 'step.progress.wait',
      endedBy: 'signal',
      rests: true,
    },
    find: signalAwaitedBy,
  },
  'step slot': {
    ...{ kind: 'limit', storedIn: 'step.progress.slot and step_slot', endedBy: 'slot', rests: true },
    find: (saga, { graph }) => slotAwaitedBy(saga, graph),
  },
  'saga slot': {
    ...{ kind: 'limit', storedIn: 'saga_limit', endedBy: 'worker' },
    find: (saga, { limit, now }) => {
      const { limitKey: key, slotsTaken = 0 } = saga;
      if (!(saga.dueAt! <= now) || limit === undefined || slotsTaken < limit) return undefined;
      return {
        ...{ kind: 'limit', limit, ...(key !== undefined && { key }) },
        since: new Date(saga.dueAt!),
      };
    },
  },
  worker: {
    ...{ kind: 'worker', storedIn: 'instance.due_at', endedBy: 'worker' },
    find: ({ dueAt }, { graph, now }) =>
      graph && dueAt! <= now ? { kind: 'worker', since: new Date(dueAt!) } : undefined,
  },
  version: {
    ...{ kind: 'version', storedIn: 'instance.due_at', endedBy: 'worker' },
    find: ({ name, version, dueAt }, { now }) =>
      dueAt! <= now ? { kind: 'version', saga: name, version, since: new Date(dueAt!) } : undefined,
  },
  'rate limit of the saga': {
    ...{ kind: 'rate-limit', storedIn: 'instance.progress.turn', endedBy: 'time' },
    find: (saga, around) => {
      const { turn } = saga.state;
      if (!isTimed(saga, around) || typeof turn !== 'object' || turn.at <= around.now) return undefined;
      const key = turn.key === undefined ? {} : { key: turn.key };
      return { kind: 'rate-limit', ...key, until: new Date(turn.at) };
    },
  },
  'rate limit of a step': {
    ...{ kind: 'rate-limit', storedIn: 'step.retry_at and progress.permit', endedBy: 'time' },
    find: timeAwaitedBy,
  },
  retry: { kind: 'retry', storedIn: 'step.retry_at', endedBy: 'time', find: timeAwaitedBy },
  'step delay': { kind: 'delay', storedIn: 'step.retry_at', endedBy: 'time', find: timeAwaitedBy },
  // A worker could not read a sub-saga that it needs, and has given the saga back until another may.
  'given back': {
    ...{ kind: 'delay', storedIn: 'instance.due_at', endedBy: 'time' },
    find: (saga, around) =>
      isTimed(saga, around) ? { kind: 'delay', until: new Date(saga.dueAt!) } : undefined,
  },
} satisfies Record<string, WaitRow>;

/** The name of a kind of wait. */
export type WaitName = keyof typeof WAITS;

/** The kinds that the table of waits has. */
type Kind = (typeof WAITS)[WaitName]['kind'];

/** A part of a text about a wait: words, a time, or the id of a saga. */
export type WaitPart = string | { readonly time: Date } | { readonly saga: string };

type Sentence<W> = (wait: W) => WaitPart[];

/** The parts of a template, without those that are empty. */
function say(words: TemplateStringsArray, ...parts: readonly (WaitPart | readonly WaitPart[])[]): WaitPart[] {
  return words
    .flatMap((text, n) => [text, parts[n] ?? ''])
    .flat()
    .filter((part) => part !== '');
}

/** The sentence of each kind: the rest of "It waits for …". A kind without a row in WAITS does not compile. */
const SENTENCES: {
  readonly [K in WaitingFor['kind']]: K extends Kind ? Sentence<Extract<WaitingFor, { kind: K }>> : never;
} = {
  retry: ({ step, at: time }) => say`another attempt at step '${step}', at ${{ time }}`,
  delay: ({ step, until: time }) =>
    say`${step === undefined ? 'its start time' : `the delay of step '${step}'`}${until(time)}`,
  'rate-limit': ({ step, key, until: time }) =>
    say`the rate limit of ${step === undefined ? 'its name' : `step '${step}'`}${ofKey(key)}${until(time)}`,
  worker: ({ since: time }) =>
    say`a worker, since ${{ time }}: the workers are busy or stopped, or none has this version`,
  version: ({ saga, version, since: time }) =>
    say`a worker that has ${saga}@${String(version)}, since ${{ time }}`,
  limit: (wait) => {
    const { step, key, limit, since: time } = wait;
    if (step !== undefined) return slotOf(wait, step);
    return say`its turn${ofKey(key)}, since ${{ time }}: ${String(limit)} sagas of its ${key === undefined ? 'name' : 'key'} are running, which is its limit`;
  },
  lock: ({ key, holder }) => say`the lock '${key}', which saga ${{ saga: holder }} holds`,
  'sub-saga': ({ id, step, during }) =>
    say`saga ${{ saga: id }}, which step '${step}' started${compensates(during)}`,
  'remote-step': ({ handler, step, id, during }) =>
    say`handler '${handler}' of step '${step}', which is running${compensates(during)} (saga ${{ saga: id }})`,
  handler: ({ handler, step, since: time, deployed }) =>
    say`a worker with handler '${handler}' for step '${step}', since ${{ time }}: ${handlerIs(deployed)}`,
  signal: ({ signal, during, step, until: time }) =>
    say`the signal '${signal}' ${during ? 'that confirms the compensation of' : 'for'} step '${step}'${until(time)}`,
  approval: (wait) => say`${approver(wait)} to approve or reject step '${wait.step}'${until(wait.until)}`,
  'paused-step': (wait) =>
    say`an operator to resume step '${wait.step}', since ${{ time: wait.since }}: paused${pausedBy(wait)}`,
  paused: (wait) => say`an operator to resume it: paused${pausedBy(wait)}`,
  person: ({ steps }) => say`an operator${needingAttention(steps)}`,
};

/** The text of `describeWait()` in parts, so that a page can link sagas and show times as its reader's. */
export function partsOfWait(waitingFor: WaitingFor): WaitPart[] {
  // Only a snapshot of a later version of this package has another kind.
  const sentence = SENTENCES[waitingFor.kind] as Sentence<WaitingFor> | undefined;
  return sentence?.(waitingFor) ?? [waitingFor.kind];
}

/**
 * Describes what a saga waits for, as the rest of the sentence "It waits for …". The command line, the dashboard and the
 * REST API use the same text. Times are in ISO 8601, UTC. The text is for operators. It is not stable enough to compare:
 * compare `waitingFor.kind`.
 * @param waitingFor of a `SagaSnapshot`
 * @param now if it is given, each time is followed by its distance from it: `(in 4m 10s)`
 */
export function describeWait(waitingFor: WaitingFor, now?: Date): string {
  const textOf = (part: WaitPart): string => {
    if (typeof part === 'string') return part;
    if ('saga' in part) return part.saga;
    const { time } = part;
    return now ? `${time.toISOString()} (${fromNow(time, now.getTime())})` : time.toISOString();
  };
  return partsOfWait(waitingFor).map(textOf).join('');
}

function until(time: Date | undefined): WaitPart[] {
  return time ? say`, until ${{ time }}` : [];
}

function approver({ quorum, approvals = [] }: WaitingFor & { kind: 'approval' }): string {
  if (quorum === undefined) return 'an operator';
  const who = approvals.length > 0 ? `: ${approvals.map(({ by }) => by).join(', ')}` : '';
  return `operators (${approvals.length} of ${quorum} have approved${who})`;
}

function slotOf({ key, limit, since: time }: WaitingFor & { kind: 'limit' }, step: string): WaitPart[] {
  const which = key === undefined ? 'it' : 'this key';
  const why =
    limit === undefined ? '' : `: ${limit} attempts of ${which} are in progress, which is its limit`;
  return say`a slot of step '${step}'${ofKey(key)}, since ${{ time }}${why}`;
}

function ofKey(key: string | undefined): string {
  return key === undefined ? '' : ` for '${oneLine(key)}'`;
}

function compensates(during: 'compensation' | undefined): string {
  return during === undefined ? '' : ' and which compensates';
}

function handlerIs(deployed: boolean): string {
  return deployed
    ? 'the processes that have it are stopped or busy'
    : 'no process that has it was ever started';
}

function needingAttention(steps: readonly string[]): string {
  if (steps.length === 0) return '';
  const [subject, verb] = steps.length === 1 ? ['step', 'needs'] : ['steps', 'need'];
  return `: ${subject} '${steps.join("', '")}' ${verb} attention`;
}

function pausedBy({ by, reason }: { readonly by?: string; readonly reason?: string }): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason ? `: ${oneLine(reason)}` : ''}`;
}

/** What a saga waits for, with the name of that kind of wait. Undefined: a worker advances it, it has ended, or nothing explains it. */
export function waitOf(
  saga: StoredSaga,
  around: SnapshotContext,
): { readonly name: WaitName; readonly wait: WaitingFor } | undefined {
  // Steps of one that was aborted stay as they were.
  if (isTerminal(saga.state.status)) return undefined;
  const rests = saga.lockedBy === undefined && !(saga.dueAt! <= around.now);
  for (const [name, row] of Object.entries<WaitRow>(WAITS)) {
    const wait = row.rests && !rests ? undefined : row.find(saga, around);
    if (wait && wait.kind === row.kind && duringOf(wait) === row.during)
      return { name: name as WaitName, wait };
  }
  return undefined;
}

function duringOf(wait: WaitingFor): 'compensation' | undefined {
  return wait.kind === 'signal' ? wait.during : undefined;
}

export function waitingFor(saga: StoredSaga, around: SnapshotContext): WaitingFor | undefined {
  return waitOf(saga, around)?.wait;
}
/** The database rounds times to microseconds, but not those in JSON. */
function isSameTime(one: number, other: number): boolean {
  return Math.abs(one - other) < 1;
}

/** The data that a snapshot shows beside the stored saga. */
export interface SnapshotContext {
  /** Undefined if this process does not have the saga's version. Then only recorded steps are shown. */
  readonly graph: SagaGraph | undefined;
  readonly now: number;
  /** The paused steps of the saga. Default: none. */
  readonly pauses?: readonly StoredStepPause[];
  /** The `limit` of the saga's name. */
  readonly limit?: number;
  /** The saga of the handler that a remote step waits for, and whether any process ever had this handler. */
  readonly remote?: { readonly saga: StoredSaga; readonly deployed: boolean };
}
