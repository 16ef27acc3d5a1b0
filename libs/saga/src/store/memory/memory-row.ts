import { writtenSteps } from '../../engine/ports/checkpoint.js';
import type { StoredOperation } from '../../engine/ports/operation.js';
import {
  type ExistingSaga,
  PRIORITY_POINT_MS,
  type StoredSummary,
  type StoreFilter,
} from '../../engine/ports/saga-store.js';
import type { Child, Lease, NewSaga, StoredSaga, StoredSignal } from '../../engine/ports/stored-saga.js';
import { INITIAL, isTerminal, type SagaState, type StepState, stepState } from '../../machine/saga-state.js';
import { failureOf } from '../../machine/attempt-errors.js';
import type { OpenApproval } from '../../machine/open-approvals.js';
import { type StepNotes, withNote } from '../../machine/step-notes.js';
import { awaitedSignals } from '../../machine/waits.js';
import type { StepStatus } from '../../definition/types/saga-status.js';
import { storedCopy } from './stored-copy.js';

const NO_STEPS: SagaState['steps'] = new Map();
/** What went wrong before has come right. */
const OVER: readonly StepStatus[] = ['completed', 'skipped', 'compensated'];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A saga as the store keeps it. Only the store changes it, and it leaves the store as a copy only. */
export interface MemoryRow {
  readonly saga: Mutable<StoredSaga>;
  /** The steps that have notes, without them. */
  unnoted: SagaState['steps'];
  /** Where it stands, for people. */
  step: string;
  /** What went wrong last, for people. */
  error?: string;
  /** A process waits for it to settle. */
  watched: boolean;
  /** A saga that it waits for has ended, or a signal has come, since it was last claimed. */
  woken: boolean;
  /** All that it was sent, in order. */
  readonly signals: StoredSignal[];
  /** What operators did, in order. */
  readonly operations: StoredOperation[];
  /** The steps that wait for an operator's decision, whether or not there is one already. */
  openApprovals: readonly OpenApproval[];
  /** The semantic lock, until the saga has left the queue. */
  lock?: RowLock;
  /** The lock of a saga that has left the queue. */
  left?: RowLock;
}

export interface RowLock {
  readonly key: string;
  /** Stored and not looked at yet, in the queue, active, or active under the hold of an ancestor. */
  state: 'arriving' | 'waiting' | 'held' | 'inside';
  /** The smaller, the sooner. */
  place: number;
  /** Milliseconds for going forward, counted from when it gets the lock. */
  readonly timeout?: number;
}

/** What the rules of semantic locks know of a saga. */
export type LockedRow = Pick<MemoryRow, 'saga' | 'lock' | 'left'>;

/** Whether a saga holds its semantic lock, or runs under the hold of an ancestor. */
export function hasLock({ lock }: LockedRow): boolean {
  return lock?.state === 'held' || lock?.state === 'inside';
}

export function isSameLock(a: LockedRow, b: LockedRow): boolean {
  return a.saga.name === b.saga.name && a.lock?.key === b.lock?.key;
}

/** One with a semantic lock may have to wait for it, so its start takes no lease. */
export function rowTakesLease({ leased, lockKey }: NewSaga): boolean {
  return leased && lockKey === undefined;
}

export function newRow(given: NewSaga & Partial<Child>, lease: Lease, now: number): MemoryRow {
  const { id, name, version, correlationId, input, priority, tags, step, timeout, lockKey, limitKey } = given;
  const leased = rowTakesLease(given);
  // Begun in the past, it would be ahead of all that has waited since.
  const beginsAt = given.startAt === undefined ? now + (given.delay ?? 0) : Math.max(now, given.startAt);
  return {
    saga: {
      ...{ id, name, version, correlationId, input, priority, tags: storedCopy(tags) },
      state: {
        ...INITIAL,
        ...(timeout !== undefined && lockKey === undefined && { deadline: beginsAt + timeout }),
        ...(beginsAt > now && !leased && { startsAt: beginsAt }),
      },
      epoch: leased ? 1 : 0,
      lockedBy: leased ? lease.worker : undefined,
      dueAt: leased ? now + lease.duration : beginsAt,
      checkpoints: 0,
      takeovers: 0,
      losses: 0,
      slaAt: given.sla === undefined ? undefined : beginsAt + given.sla,
      parent: given.parent,
      limitKey,
      createdAt: now,
      updatedAt: now,
      stepTimes: new Map(),
    },
    unnoted: NO_STEPS,
    step,
    watched: false,
    woken: false,
    signals: [],
    operations: [],
    openApprovals: [],
    lock: lockKey === undefined ? undefined : { key: lockKey, state: 'arriving', place: 0, timeout },
  };
}

/** What `record` writes: of the state's steps only those named. */
interface Recording {
  readonly state: SagaState;
  readonly changed: readonly string[];
  readonly notes?: StepNotes;
  readonly openApprovals?: readonly OpenApproval[];
  readonly failedAttempt?: number;
  readonly elapsed?: ReadonlyMap<string, number>;
  readonly step: string;
  readonly advances: boolean;
}

/** Writes a state and those of its steps that changed; the row's other steps stay as they are. */
export function record(
  row: MemoryRow,
  { state, changed, notes, openApprovals, failedAttempt, elapsed, step, advances }: Recording,
  now: number,
): void {
  const { saga } = row;
  const written = new Map([...saga.state.steps, ...row.unnoted]);
  const stepTimes = new Map(saga.stepTimes);
  for (const name of writtenSteps({ changed, notes })) {
    written.set(name, storedCopy({ ...stepState(state, name), active: false }));
    const startedAt = stepTimes.get(name)?.startedAt ?? now - (elapsed?.get(name) ?? 0);
    stepTimes.set(name, { startedAt, updatedAt: now });
  }
  const steps = new Map(written);
  const unnoted = new Map<string, StepState>();
  notes?.forEach((note, name) => {
    const bare = written.get(name)!;
    unnoted.set(name, bare);
    steps.set(name, withNote(bare, note));
    stepTimes.set(name, { ...stepTimes.get(name)!, updatedAt: saga.createdAt + note.at });
  });
  row.unnoted = unnoted;
  row.openApprovals = openApprovals ?? row.openApprovals;
  row.step = step;
  row.error = lastError(state, changed) ?? state.failure?.error?.message;
  const failure = failedAttempt === undefined ? state.failure : withAttempt(state, failedAttempt, steps);
  saga.state = { ...storedCopy({ ...state, failure, steps: NO_STEPS }), steps };
  saga.notes = notes;
  saga.stepTimes = stepTimes;
  saga.updatedAt = now;
  saga.takeovers = 0;
  if (advances) saga.losses = 0;
  saga.finishedAt = isTerminal(state.status) ? (saga.finishedAt ?? now) : undefined;
}

/** The failure with the error of the attempt: its own may be without what only the step has. */
function withAttempt({ failure }: SagaState, attempt: number, steps: SagaState['steps']) {
  const { error: _, ...rest } = failure!;
  return failureOf({ ...rest, attempt }, steps);
}

/** The message of the attempt that just failed, if one did. */
function lastError(state: SagaState, changed: readonly string[]): string | undefined {
  const failing = changed
    .map((name) => stepState(state, name))
    .find(({ status, errors }) => errors.length > 0 && !OVER.includes(status));
  return failing?.errors.at(-1)?.message;
}

/** The smaller, the sooner claimed. */
export function rank({ saga }: MemoryRow): number {
  return (saga.dueAt ?? Infinity) - saga.priority * PRIORITY_POINT_MS;
}

/** @param now the store's time */
export function matches(row: MemoryRow, filter: StoreFilter, now: number): boolean {
  const { saga } = row;
  const { name, status, correlationId, tags, createdAfter, createdBefore, before } = filter;
  return (
    (name === undefined || saga.name === name) &&
    (status === undefined || status.includes(saga.state.status)) &&
    (correlationId === undefined || (saga.correlationId ?? saga.id) === correlationId) &&
    (tags === undefined || Object.entries(tags).every(([key, value]) => saga.tags?.[key] === value)) &&
    (createdAfter === undefined || saga.createdAt >= createdAfter.getTime()) &&
    (createdBefore === undefined || saga.createdAt < createdBefore.getTime()) &&
    (before === undefined || saga.id < before) &&
    matchesProgress(row, filter, now)
  );
}

function matchesProgress({ saga, step: steps }: MemoryRow, filter: StoreFilter, now: number): boolean {
  const { finishedAfter, finishedBefore, step, waitingFor, overdue, errorCode } = filter;
  const { finishedAt, slaAt = Infinity, state } = saga;
  const hasEnded = (is: (at: number) => boolean) => finishedAt !== undefined && is(finishedAt);
  return (
    (finishedAfter === undefined || hasEnded((at) => at >= finishedAfter.getTime())) &&
    (finishedBefore === undefined || hasEnded((at) => at < finishedBefore.getTime())) &&
    (step === undefined || steps.split(', ').includes(step)) &&
    (waitingFor === undefined || awaitedSignals(state.steps).includes(waitingFor)) &&
    (overdue === undefined || slaAt <= (finishedAt ?? now) === overdue) &&
    (errorCode === undefined || hasErrorCode(state, errorCode))
  );
}

function hasErrorCode({ failure, steps }: SagaState, code: string): boolean {
  if (failure?.error?.code === code) return true;
  return [...steps.values()].some(({ errors }) => errors.some((error) => error.code === code));
}

export function sagaOfRow(row: MemoryRow): StoredSaga {
  const { saga, lock } = row;
  const signals = pendingSignalsOf(row);
  const held = lock && { key: lock.key, held: hasLock(row) };
  const leasedAt = saga.lockedBy === undefined ? undefined : saga.leasedAt;
  const lostLeases = saga.takeovers > 0 ? saga.lostLeases : undefined;
  return storedCopy({ ...saga, leasedAt, lostLeases, lock: held, ...(signals && { signals }) });
}

export function toExisting({ saga }: MemoryRow): ExistingSaga {
  const { id, name, correlationId } = saga;
  return { id, name, correlationId, input: (saga.startedWith ?? saga).input };
}

export function summaryOfRow({ saga, step, error }: MemoryRow): StoredSummary {
  const { id, name, version, correlationId, checkpoints: revision, tags } = saga;
  const { createdAt, updatedAt, finishedAt } = saga;
  const { status, heldPhase } = saga.state;
  return storedCopy({
    ...{ id, name, version, correlationId, status, heldPhase, revision, step, error, tags },
    ...{ createdAt, updatedAt, finishedAt },
  });
}

/** By what is stored of it, the saga, or an attempt of it, is to begin at a time that a rate limit has given. Its holder may know more. */
export function waitsUntil(row: MemoryRow | undefined, time: number): boolean {
  if (!row || isTerminal(row.saga.state.status)) return false;
  const { lockedBy, state } = row.saga;
  if (lockedBy !== undefined || (typeof state.turn === 'object' && state.turn.at === time)) return true;
  return [...state.steps.values()].some(({ status, permit }) => status === 'waiting' && permit === time);
}

/** The signals that a saga has not taken yet. Undefined: nothing was sent at all. */
export function pendingSignalsOf({ signals, saga }: MemoryRow): readonly StoredSignal[] | undefined {
  if (signals.length === 0) return undefined;
  const taken = saga.state.lastTakenSignals ?? {};
  return signals.filter(({ name, number }) => number > (taken[name] ?? 0));
}
