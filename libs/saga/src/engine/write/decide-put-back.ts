import { nodeOf, type SagaGraph } from '../../definition/graph/saga-graph.js';
import { limitKeyOf } from '../payload/start-keys.js';
import { openApprovals } from '../../machine/open-approvals.js';
import { type StepState, stepState } from '../../machine/saga-state.js';
import type { Checkpoint } from '../ports/checkpoint.js';
import type { PutBack } from '../ports/put-back.js';
import type { Lease, NewSaga, StoredSaga } from '../ports/stored-saga.js';
import type { MadeCheckpoint } from './made-checkpoint.js';
import type { KnownSaga, KnownStart } from './recent-sagas.js';

/** A saga after a failover: what this process knows of it, and what the database has. */
export interface AfterFailover {
  readonly known: KnownSaga;
  readonly row: StoredSaga;
  /** This process has just stored the start again. */
  readonly isNew: boolean;
  /** The epoch under which this process runs the saga now. Undefined: it does not. */
  readonly runsUnder: number | undefined;
  readonly lease: Lease;
  /** The saga's graph. Undefined: this process does not have it. */
  readonly graph: SagaGraph | undefined;
  /** The database's time. */
  readonly now: number;
}

/**
 * `current`: nothing of it was lost. `elsewhere`: another worker, or an operator, may have gone on with it since the
 * failover. `transaction`: all that was lost depends on a step whose transaction was lost.
 */
export type PutBackDecision = PutBack | 'current' | 'elsewhere' | 'transaction';

/**
 * Decides which state of a saga is put back. A step whose transaction was lost has to run again, since what it wrote was
 * lost as well. So the newest state before it is put back, and nothing after it.
 */
export function decidePutBack(after: AfterFailover): PutBackDecision {
  const { known, row } = after;
  const newest = known.last;
  if (newest === undefined || newest.number <= row.checkpoints) return 'current';
  if (!isUntouched(after, newest) || hasOtherSignals(after, newest)) return 'elsewhere';
  const lost = lostBefore(after, newest);
  const last = lost.at(-1);
  if (last === undefined) return 'transaction';
  const isKept = last === newest && keepsLease(after, newest);
  return {
    checkpoint: { ...wholeOf(lost), ...standing(after, last, isKept) },
    lease: isKept ? after.lease : undefined,
    createdAt: after.isNew ? (known.claimed?.createdAt ?? known.start!.at) : undefined,
    parent: last.parent,
    storedAt: storedAt(after),
  };
}

/** Nothing has happened to the saga in the new history. Every claim and every edit raises its epoch. */
function isUntouched({ known: { claimed }, row, lease }: AfterFailover, made: MadeCheckpoint) {
  if (isUnbegun(row)) return true;
  if (row.epoch === made.epoch) return row.lockedBy === lease.worker;
  if (row.epoch > made.epoch || claimed === undefined) return false;
  // The claim was lost, too. Others may have claimed the saga since, as often: the times tell.
  return row.updatedAt <= claimed.updatedAt && (row.leasedAt ?? -Infinity) <= (claimed.leasedAt ?? -Infinity);
}

/** As it was started, by whichever process. */
function isUnbegun({ epoch, checkpoints, lockedBy }: StoredSaga): boolean {
  return epoch === 0 && checkpoints === 0 && lockedBy === undefined;
}

/** A signal has the number of one that the saga has taken, and is perhaps another: it must not count as taken. */
function hasOtherSignals({ known: { claimed }, row }: AfterFailover, { state }: MadeCheckpoint): boolean {
  const { lastTakenSignals = {} } = state;
  const isSeen = (id: string) => claimed?.signals?.some(({ messageId }) => messageId === id) ?? false;
  return (row.signals ?? []).some(
    ({ name, number, messageId }) => number <= (lastTakenSignals[name] ?? 0) && !isSeen(messageId),
  );
}

/** The checkpoints that were lost, oldest first, up to the first that depends on a transaction that was lost. */
function lostBefore(after: AfterFailover, newest: MadeCheckpoint): MadeCheckpoint[] {
  const lost: MadeCheckpoint[] = [];
  let one: MadeCheckpoint | undefined = newest;
  for (; one && one.number > after.row.checkpoints; one = one.before) lost.unshift(one);
  const first = lost.findIndex((each) => lacksTransaction(after, each));
  return first === -1 ? lost : lost.slice(0, first);
}

/** The state says that a transaction was committed, by whichever worker, which the database does not have. */
function lacksTransaction({ graph, row }: AfterFailover, { state }: MadeCheckpoint): boolean {
  if (!graph) return true;
  return [...state.steps].some(([key, step]) => {
    const stored = stepState(row.state, key);
    const isSame = stored.round === step.round && committed(stored) === committed(step);
    return !isSame && nodeOf(graph, key).transactional;
  });
}

/** How many transactions of a step have been committed: its own, and that of its compensation. */
function committed({ status }: StepState): number {
  if (status === 'compensated') return 2;
  return status === 'completed' || status === 'compensating' || status === 'compensation_failed' ? 1 : 0;
}

/** The run of this process continues as if nothing had been lost. */
function keepsLease({ known, row, runsUnder, graph }: AfterFailover, made: MadeCheckpoint): boolean {
  if (runsUnder === undefined || (row.lock && !row.lock.held)) return false;
  if (graph?.limit !== undefined && row.epoch !== made.epoch) return false;
  if (runsUnder === made.epoch) return made.release === undefined;
  return known.claimed?.epoch === runsUnder && known.claimed.checkpoints === made.number;
}

type Standing = Pick<Checkpoint, 'epoch' | 'release'>;

function standing(after: AfterFailover, made: MadeCheckpoint, isKept: boolean): Standing {
  const { runsUnder, row, now } = after;
  if (isKept) return { epoch: runsUnder! };
  // A run of this process is ahead of what is put back, or may not go on.
  const epoch = runsUnder === undefined ? made.epoch : Math.max(runsUnder, made.epoch) + 1;
  // One that waits for its lock is due when it gets the lock. Any other is looked at, at once.
  return row.lock && !row.lock.held ? { epoch } : { epoch, release: { dueAt: now } };
}

/** Everything that these have stored, in one. */
function wholeOf(lost: readonly MadeCheckpoint[]): Omit<Checkpoint, 'epoch'> {
  const { id, number, state, failedAttempt, step, lock, parent } = lost.at(-1)!;
  const starts = lost.flatMap(({ starts }) => starts ?? []);
  const messages = lost.flatMap(({ messages }) => messages ?? []);
  const tags = lost.findLast((one) => one.tags !== undefined)?.tags;
  return {
    ...{ id, number, state, failedAttempt, step, lock, parent },
    changed: [...state.steps.keys()],
    openApprovals: openApprovals(state),
    ...{ advances: true, cancelSeen: true, pauseSeen: true },
    ...(starts.length > 0 && { starts }),
    ...(messages.length > 0 && { messages }),
    ...(tags && { tags }),
  };
}

/** Before the failover, so that another process that knows more may put that back. */
function storedAt({ known: { claimed, start }, row }: AfterFailover): number {
  const known = claimed?.updatedAt ?? start?.at ?? row.updatedAt;
  return isUnbegun(row) ? known : Math.max(row.updatedAt, known);
}

/**
 * Returns a start that was lost, to be stored again. Its times are those that it had.
 * Undefined: it was not acknowledged here, and no checkpoint of the saga was.
 * @param leased this process runs the saga, and nothing of it was stored yet
 * @param now the database's time
 * @param graph undefined: this process does not have it
 */
export function startAgain(
  known: KnownSaga,
  leased: boolean,
  now: number,
  graph: SagaGraph | undefined,
): NewSaga | undefined {
  const { start, claimed, last } = known;
  if (last === undefined) return start && { ...asStarted(start, now), leased };
  const saga = start ? asStarted(start, now) : claimed && asClaimed(claimed, now, graph);
  if (saga === undefined) return undefined;
  // Nothing claims it until its state is stored as well. A lock is waited for in the order of the starts.
  const follows = Math.max(now + STATE_FOLLOWS, saga.startAt ?? 0);
  const startAt = saga.lockKey === undefined ? follows : saga.startAt;
  return { ...saga, leased: false, startAt, step: last.step };
}

/** Milliseconds, at most, between a start that is stored again and the state of the saga. */
const STATE_FOLLOWS = 5_000;

function asStarted({ saga, at }: KnownStart, now: number): NewSaga {
  const { delay, timeout, sla, lockKey } = saga;
  const startAt = saga.startAt ?? (delay === undefined ? undefined : at + delay);
  const begins = startAt ?? at;
  const left = (duration: number) => Math.max(0, begins + duration - Math.max(now, begins));
  return {
    ...saga,
    fresh: false,
    delay: undefined,
    startAt,
    // That of a saga with a lock counts from when it gets the lock.
    timeout: timeout === undefined || lockKey !== undefined ? timeout : left(timeout),
    sla: sla === undefined ? undefined : left(sla),
  };
}

function asClaimed(saga: StoredSaga, now: number, graph: SagaGraph | undefined): NewSaga {
  const { id, name, version, correlationId, input, priority, tags, state, slaAt, lock } = saga;
  const begins = Math.max(now, state.startsAt ?? now);
  const left = (time: number | undefined) => (time === undefined ? undefined : Math.max(0, time - begins));
  return {
    ...{ id, name, version, correlationId, input, priority, tags },
    ...{ fresh: false, leased: false, step: '', timeout: left(state.deadline), sla: left(slaAt) },
    lockKey: lock?.key,
    startAt: state.startsAt,
    limitKey: graph && limitKeyAgain(graph, input, tags),
  };
}

/** A claim does not read it. Undefined: its function gives none any more, so that the saga is one of those without a key. */
function limitKeyAgain(graph: SagaGraph, input: string | undefined, tags: StoredSaga['tags']) {
  try {
    return limitKeyOf(graph, input, tags);
  } catch {
    return undefined;
  }
}
