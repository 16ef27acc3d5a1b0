import { iface } from '@restatedev/restate-sdk';
import {
  type Lease,
  type LockDeadlock,
  type LockedRow,
  type MemoryGraphs,
  type MemoryRow,
  type NewSaga,
  queueKey,
  type RateRequest,
  type Reservation,
  type RowLock,
  type ScheduleEdit,
  type SlotHolder,
  type SlotLimit,
  type StartResult,
  type StepOfSaga,
  type StoredGraph,
  type StoredMessage,
  type StoredSchedule,
  type StoredStepPause,
  type SweptSaga,
  type WakeupMessage,
  type WhoAndWhy,
} from 'nestjs-durable-saga/internal/backend';
import type { KeptSaga } from './kept-saga.js';
import type { Arrived, LockAnswer } from './own-lock.js';
import { textOf } from './stored-text.js';

/** The methods of the store that change one saga. */
export type ChangeMethod =
  | 'start'
  | 'checkpoint'
  | 'claim'
  | 'renew'
  | 'giveBack'
  | 'edit'
  | 'signal'
  | 'watch'
  | 'markOverdue';

/** Who calls, and when by his clock (milliseconds since the epoch). */
export interface Caller {
  readonly now: number;
  readonly worker: string;
}

/** A change of a saga: a method of the store, which finds no other saga. */
export interface ChangeCall extends Caller {
  readonly method: ChangeMethod;
  readonly args: readonly unknown[];
  /** Only if the saga has this revision. Default: whatever it has. */
  readonly revision?: number;
  /** The stored graphs of the saga's name. Default: they do not matter. */
  readonly graphs?: readonly StoredGraph[];
  /** Only under this slot. Default: there is no limit. */
  readonly slot?: ClaimedSlot;
  /** The name of a claim, by which it is given back if its answer does not come. Default: it is no claim. */
  readonly claim?: string;
}

/** Undefined: the saga has another revision, or no slot. */
export type ChangeAnswer = { readonly result: unknown } | undefined;

export interface StartCall extends Caller {
  readonly saga: NewSaga;
  readonly lease: Lease;
}

/** A saga that another one has started. */
export interface ChildCall {
  readonly row: MemoryRow;
  readonly now: number;
}

/** A value that is replaced if it has not changed meanwhile. The first revision is 1. */
export interface Register<T> {
  readonly revision: number;
  readonly value: T;
}

/** The pauses of steps, and the sagas that rest for each that is not over, by `pauseKey`. */
export interface KeptPauses {
  readonly pauses: readonly StoredStepPause[];
  readonly resting: ReadonlyMap<string, readonly string[]>;
}

export interface PauseCall {
  readonly method: 'pause' | 'resume';
  readonly step: StepOfSaga;
  readonly who: WhoAndWhy;
  readonly now: number;
}

export interface RestCall {
  readonly id: string;
  readonly saga: string;
  readonly steps: readonly string[];
}

export interface ReserveCall {
  readonly limit: RateRequest;
  readonly attempts: number;
  readonly now: number;
}

export interface SlotCall {
  readonly limit: SlotLimit;
  readonly holder: SlotHolder;
  readonly steps: readonly string[];
  readonly now: number;
}

export interface SweepCall {
  readonly sagas: readonly SweptSaga[];
  readonly now: number;
}

/** A saga in the queue of a semantic lock. */
export interface QueuedSaga {
  readonly id: string;
  readonly lock: RowLock;
  /** When it may begin: it is in the queue before it is stored. */
  readonly dueAt: number;
}

export interface ArriveCall extends QueuedSaga {
  /** The saga does not wait. */
  readonly rejects?: boolean;
  readonly now: number;
}

/** A saga, as far as the rules of locks want to know of it: see `lockedPart`. */
export interface LockCall {
  readonly row: LockedRow;
  readonly now: number;
}

/** A saga that has one of the slots of its name, or of its key, or is about to have it. */
export interface SagaSlot {
  readonly id: string;
  /** The epoch of the saga when it was given the slot: the next one is that of the lease. */
  readonly epoch: number;
  /** Until then (milliseconds since the epoch) its claim is waited for. */
  readonly until: number;
}

/** The slot of a claim. */
export interface ClaimedSlot extends Pick<SagaSlot, 'epoch'> {
  /** The key of the object that gave it: see `slotKey`. */
  readonly key: string;
  /** Later than that, by the clock of the machine, another saga may have it. */
  readonly until: number;
}

export interface SagaSlotCall {
  readonly slot: SagaSlot;
  readonly count: number;
  readonly now: number;
}

export interface ScheduleCall extends Caller {
  readonly revision: number;
  readonly edit: ScheduleEdit;
}

export interface ScheduleAnswer {
  readonly schedule: StoredSchedule;
  readonly start?: StartResult;
}

/** The key of an object of which there is one. */
export const ALL = 'all';

const exclusive = <I, O>() => iface.serdes({ input: textOf<I>(), output: textOf<O>() });
const sharedFor = <I, O>() => iface.shared.serdes({ input: textOf<I>(), output: textOf<O>() });
const shared = <O>() => sharedFor<void, O>();

/** A saga, by its id. Its state is its row. */
export const SAGA = iface.object('DurableSaga', {
  change: exclusive<ChangeCall, ChangeAnswer>(),
  add: exclusive<ChildCall, void>(),
  /** What this one waits for has come. Since then it is due; default: now. */
  wake: exclusive<{ readonly now: number; readonly since?: number }, void>(),
  /** Ends a lease of this epoch that has run out. Its worker learns of it. */
  fence: exclusive<{ readonly epoch: number; readonly now: number }, void>(),
  /** Gives back what a claim has taken whose answer did not come. */
  unclaim: exclusive<{ readonly claim: string; readonly now: number }, void>(),
  /** Looks whether the saga is due. */
  look: exclusive<{ readonly at: number }, void>(),
  /** The process to which it was offered has ended. */
  offer: exclusive<{ readonly now: number }, void>(),
  /** Keeps this revision of its graph. */
  keepGraph: exclusive<number, void>(),
  /** A step for which this saga may rest was resumed. */
  resumeStep: exclusive<{ readonly pause: StoredStepPause; readonly now: number }, void>(),
  remove: exclusive<void, void>(),
  read: shared<KeptSaga | undefined>(),
});

/** The saga of a name that has a correlation id: its id. */
export const CORRELATION = iface.object('DurableSagaCorrelation', {
  start: exclusive<StartCall, ChangeAnswer>(),
  add: exclusive<ChildCall, void>(),
  /** The saga with this id is deleted. */
  remove: exclusive<string, void>(),
  read: shared<string | undefined>(),
});

/** The hints for a worker, until it takes them. */
export const HINTS = iface.object('DurableSagaHints', {
  put: exclusive<WakeupMessage, void>(),
  /** Answers with the next hints. Only one listens. */
  listen: exclusive<string, void>(),
  /** Waits for hints. After a while there are none. */
  take: shared<readonly WakeupMessage[]>(),
  /** The worker has ended. */
  remove: exclusive<void, void>(),
});

/** The schedule of a saga, by its name. */
export const SCHEDULE = iface.object('DurableSagaSchedule', {
  /** Undefined: the schedule has another revision. */
  edit: exclusive<ScheduleCall, ScheduleAnswer | undefined>(),
  read: shared<Register<StoredSchedule> | undefined>(),
});

/** The graphs of sagas, under the key `all`. */
export const GRAPHS = iface.object('DurableSagaGraphs', {
  /** False: they have another revision. */
  write: exclusive<Register<MemoryGraphs>, boolean>(),
  read: shared<Register<MemoryGraphs> | undefined>(),
});

/** The slots and the times that the limits of a step give out, by `limitKey`. */
export const LIMIT = iface.object('DurableSagaLimit', {
  reserve: exclusive<ReserveCall, Reservation>(),
  /** Undefined: the lease is lost. */
  take: exclusive<SlotCall, readonly string[] | undefined>(),
  free: exclusive<SlotCall, void>(),
  sweep: exclusive<SweepCall, void>(),
});

/** The queue of a semantic lock, by `queueKey`. */
export const LOCK = iface.object('DurableSagaLock', {
  /** A saga is about to be stored. */
  arrive: exclusive<ArriveCall, Arrived>(),
  /** A worker is about to take a saga that does not have the lock, as far as is known. */
  enqueue: exclusive<LockCall, LockAnswer>(),
  /** A saga has left the queue, or is to be in it again, or an operator has changed it. */
  settle: exclusive<LockCall, void>(),
  /** A saga that waits is to fail, so that a circle is broken. */
  fail: exclusive<{ readonly id: string; readonly deadlock: LockDeadlock; readonly now: number }, void>(),
  /** Whether a saga has the lock; otherwise who has it, or is next to. */
  holder: sharedFor<{ readonly id: string; readonly now: number }, { held: boolean; holder?: string }>(),
  read: shared<readonly QueuedSaga[]>(),
});

/** Circles of sagas that wait for the locks of each other, under the key `all`. */
export const CIRCLES = iface.object('DurableSagaLockCircles', {
  /** A saga waits for a lock that belongs to the family of another one. `key`: of the lock. */
  look: exclusive<{ readonly key: string; readonly id: string; readonly now: number }, void>(),
});

/** The slots of a `limit` of sagas, by `slotKey`. */
export const SAGA_SLOTS = iface.object('DurableSagaSlots', {
  /** False: all are taken. */
  take: exclusive<SagaSlotCall, boolean>(),
  /** A lease has ended, or a slot was not needed. */
  free: exclusive<{ readonly id: string; readonly now: number }, void>(),
  /** How many are taken. */
  taken: sharedFor<{ readonly now: number }, number>(),
});

/** The messages of one topic and key, by `messageKey`. */
export const MESSAGES = iface.object('DurableSagaMessages', {
  /** Gives it to the broker, before those that come after it. */
  send: exclusive<StoredMessage, void>(),
});

/** The pauses of all steps, under the key `all`. */
export const PAUSES = iface.object('DurableSagaPauses', {
  change: exclusive<PauseCall, void>(),
  /** A saga comes to rest. Answers with the pauses by which it does. */
  rest: exclusive<RestCall, readonly StoredStepPause[]>(),
  /** The sagas that rested for these pauses are due. */
  over: exclusive<readonly string[], void>(),
  read: shared<KeptPauses>(),
});

/** The key of the sagas that rest for a pause. */
export function pauseKey({ saga, step, paused }: StoredStepPause): string {
  return JSON.stringify([saga, step, paused.at]);
}

/** The key of MESSAGES. */
export function messageKey({ topic, key }: StoredMessage): string {
  return JSON.stringify([topic, key]);
}

/** The key of a CORRELATION. */
export function correlationKey(name: string, correlationId: string): string {
  return JSON.stringify([name, correlationId]);
}

/** Starts that have one of these in common are made in their order. */
export function keysOfStart({ id, name, correlationId = id, lockKey }: NewSaga): string[] {
  const keys = [id, correlationKey(name, correlationId)];
  return lockKey === undefined ? keys : [...keys, queueKey(name, lockKey)];
}

/** The key of SAGA_SLOTS. `limitKey`: of the sagas that have one. */
export function slotKey(name: string, limitKey?: string): string {
  return JSON.stringify(limitKey === undefined ? [name] : [name, limitKey]);
}
