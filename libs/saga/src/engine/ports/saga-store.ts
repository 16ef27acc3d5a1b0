import type { StepSlotStore } from './step-slots.js';
import type { EntityManager } from 'typeorm';
import type { Durability } from '../../definition/options/saga-options.js';
import type { SagaCodecError } from '../../errors.js';
import type { Operation, StoredOperation } from './operation.js';
import type { SagaState } from '../../machine/saga-state.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';
import type { HeldLease, Lease, NewSaga, SentSignal, StoredSaga, StoredSignal } from './stored-saga.js';
import type { ExistingSaga, StartResult } from './stored-saga.js';
import type { StoredTask, StoreTaskFilter } from './stored-task.js';
import type { ChangeSchedule, ScheduleEdited, StoredSchedule } from './stored-schedule.js';
import type { Checkpoint, CheckpointResult } from './checkpoint.js';
import type { PutBack, SagaRevision } from './put-back.js';
import type { StepOfSaga, StepPauseStore } from './step-pause.js';

export type { ExistingSaga, StartResult };

/** The transaction of a step, as methods see it. */
export interface StepTransaction {
  /** The database layer's own. */
  readonly transaction: unknown;
  /** With TypeORM: the same. */
  readonly manager?: EntityManager;
  /**
   * Returns the error of this transaction's connection that is behind an error of the method, however the database layer
   * reports it. Undefined: the method failed for another reason. Default: undefined.
   */
  errorBehind?(error: unknown): unknown;
  /**
   * True: the transaction commits before the store can refuse the checkpoint. The saga may have been cancelled meanwhile, and
   * must not end by it. Default: the store can refuse it first.
   */
  readonly commitsFirst?: true;
}

/** A saga of which something cannot be read here. */
export interface UnreadableSaga {
  readonly id: string;
  readonly unreadable: SagaCodecError;
}

/** A saga that is watched, with what was seen of it last. Undefined: nothing. */
export interface SeenSaga {
  readonly id: string;
  readonly seen?: string;
}

/** `saga` is undefined if it does not exist. `seen` is not later than the saga itself. */
export interface SagaChange {
  readonly id: string;
  readonly seen: string;
  readonly saga: StoredSaga | UnreadableSaga | undefined;
}

/**
 * What of a saga differs whenever it has changed, other than by the renewal of its lease. Its reports are left out: the
 * store adds what it knows of them.
 */
export function seenOf(saga: StoredSaga): string {
  const { checkpoints, epoch, lockedBy, cancelRequested, pauseRequested, overdue } = saga;
  const flags = [cancelRequested !== undefined, pauseRequested, overdue].map((flag) => (flag ? 't' : 'f'));
  return `${checkpoints}.${epoch}.${flags.join('')}.${lockedBy ?? ''}`;
}

/** A saga that has become overdue. */
export interface OverdueSaga extends SignalledSaga, Pick<StoredSaga, 'correlationId'> {
  readonly step: string;
  readonly slaAt: number;
}

/** What there is to do. */
export interface StoreStats {
  /** Whether a promotion of a standby would be noticed. Undefined: the store has no standby. */
  readonly timelineGuard?: 'on' | 'off';
  readonly now: number;
  /** Counts of the sagas that have not ended. */
  readonly sagas: readonly {
    readonly name: string;
    readonly version: number;
    readonly status: SagaStatus;
    readonly count: number;
  }[];
  /** Sagas that are due and have no lease, and the time since when the first one is due. */
  readonly due: number;
  readonly oldestDue?: number;
  readonly overdue: number;
  /** The steps that operators have paused. */
  readonly pausedSteps: readonly StepOfSaga[];
  /** Messages in the outbox, up to a bound; those of them that are dead; when the oldest of the others was published. */
  readonly messages: number;
  readonly dead: number;
  readonly oldestMessage?: number;
  /** The shards that are not counted. Undefined: there are none. */
  readonly unreachable?: readonly string[];
}

/** `signal`: something that the saga was sent, an operator's decisions apart. */
export type HistoryRecord =
  | StoredOperation
  | { readonly action: 'signal'; readonly signal: string; readonly at: number };

/**
 * The signals that steps of the deployed graphs wait for, by saga and version as in `payment@1`: of those that a process
 * has.
 */
export type AwaitedSignals = Readonly<Record<string, readonly string[]>>;

/**
 * `known`: one with its message id came before. `refused`: no step of the saga waits for a signal of this name, only for
 * those of `awaited`. `ended`: the saga has ended.
 */
export type SignalResult =
  | { readonly outcome: 'kept' | 'known' | 'ended'; readonly saga: SignalledSaga }
  | ({ readonly outcome: 'refused'; readonly saga: SignalledSaga } & RefusedSignal)
  | { readonly outcome: 'unknown' };

/** Why a signal was refused. */
export interface RefusedSignal {
  /** What the saga waits for, by its own graph. */
  readonly awaited: readonly string[];
  /** Whether another stored graph of a saga of this name waits for it. */
  readonly elsewhere: boolean;
}

export interface SignalledSaga extends Pick<StoredSaga, 'id' | 'name' | 'version'> {
  readonly status: SagaStatus;
}

export interface ClaimRequest {
  readonly lease: Lease;
  /** The sagas that this worker can run. */
  readonly sagas: readonly ClaimedSaga[];
  readonly limit: number;
  /** Default: the bounds of the store alone, as for a worker that holds no large saga. */
  readonly bytes?: ClaimBytes;
}

/**
 * The room that a worker has for large sagas. They are taken in their order while there is room; the first that finds none
 * lets no other large one pass. Small ones pass, so that they never wait for memory.
 */
export interface ClaimBytes {
  readonly room: number;
  /** The worker holds no large saga: the first one is taken whatever its size, or it would never run. */
  readonly alone: boolean;
}

export interface ClaimedSaga extends Pick<StoredSaga, 'name' | 'version'> {
  /** The maximum number of leased sagas of this name, over all versions. The same for all versions. */
  readonly maxLeases?: number;
  /** That is the maximum of each key, and the keys take turns. */
  readonly keyed?: boolean;
}

export interface Claim {
  readonly sagas: readonly StoredSaga[];
  /** The database's clock. */
  readonly now: number;
  /**
   * When the next saga of these names is due, as far as is known now. In the past: a due saga was not taken, because of
   * the limit or because another transaction had locked its row. If `maxLeases` is used up, it is the end of the next
   * of those leases.
   */
  readonly nextDueAt?: number;
  /** True: due sagas were left since the worker has no room for their bytes. They are not in `nextDueAt`. */
  readonly heavy?: boolean;
  /** Why some that were taken were given back at once; the others are here. */
  readonly failure?: unknown;
}

/** At most `count` attempts of a saga's step may begin within any `per` milliseconds, the first of them in `ahead`. */
export interface RateRequest {
  readonly saga: string;
  readonly step: string;
  /** Each key has its own windows. Undefined: the limit has no key. */
  readonly key?: string;
  readonly count: number;
  readonly per: number;
  /** Milliseconds, for those to whom the answer takes its time; default: 0. */
  readonly ahead?: number;
  /** The id of the saga that asks. A time to come that it does not wait for any more, by what is stored of it, is given to others. */
  readonly holder?: string;
  /** Times that this limit gave to the holder, and under which nothing of it began: they do not count. */
  readonly unused?: readonly number[];
}

export interface Reservation {
  /** From when each of the attempts may begin, earliest first; not after `now`: at once. */
  readonly times: readonly number[];
  readonly now: number;
}

export interface RenewResult {
  /** Ids of the leases that are another's by now. */
  readonly lost: readonly string[];
  readonly cancelled: readonly { readonly id: string; readonly reason?: string }[];
  /** The sagas that an operator has paused. */
  readonly paused: readonly string[];
  readonly now: number;
}

export type StoreTarget = { readonly id: string } | { readonly name: string; readonly correlationId: string };

/** A change to a saga under its row's lock. `operation`: what is kept of it in the saga's history. */
export type Edit = EditKind & { readonly operation?: Operation };

/**
 * A new state (the lease, if any, is taken away), a request to the lease's holder, something that the saga waits for, or
 * nothing but what is kept in its history. Or a state that was lost.
 */
type EditKind =
  | {
      readonly state: SagaState;
      readonly input?: string;
      /** At once, or at this time (milliseconds since the epoch), or never by itself. */
      readonly due: boolean | number;
      readonly step: string;
      /** Moves it to this version, and the newest revision of its graph. */
      readonly version?: number;
    }
  | { readonly requestCancel: { readonly reason?: string } }
  | { readonly requestPause: true }
  | { readonly proposal: true }
  | { readonly signal: SentSignal }
  | { readonly putBack: PutBack };

/** When a saga is due after such a change. */
export function dueAfter({ due }: { readonly due: boolean | number }, now: number): number | undefined {
  if (typeof due === 'number') return due;
  return due ? now : undefined;
}

export interface StoreFilter {
  readonly name?: string;
  readonly status?: readonly SagaStatus[];
  readonly correlationId?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly finishedAfter?: Date;
  readonly finishedBefore?: Date;
  /** One of the steps that its row shows. */
  readonly step?: string;
  /** The name of a signal that a step waits for. */
  readonly waitingFor?: string;
  /** The saga is, or ended, past its `sla`; false: it is not, and did not. */
  readonly overdue?: boolean;
  /** The code of the error of its failure, or of an attempt that is kept. */
  readonly errorCode?: string;
  /** Ids below this one only. */
  readonly before?: string;
  readonly limit: number;
}

/** What a list shows of a saga. */
export interface StoredSummary
  extends
    Pick<StoredSaga, 'id' | 'name' | 'version' | 'correlationId' | 'createdAt' | 'updatedAt' | 'finishedAt'>,
    Pick<SagaState, 'status' | 'heldPhase'> {
  /** The number of the last checkpoint. */
  readonly revision: number;
  readonly step: string;
  readonly error?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/**
 * The engine's seam to the database: batch-first, and small enough that another database could be put behind it. Every
 * implementation passes `test/contract/saga-store.contract.ts`. Methods throw what their database throws. It either refuses
 * the data of the call (`refuses`), or the call may be repeated (`isOutage`); other errors are the caller's.
 */
export interface SagaStore {
  /** The slots of steps with a `limit`. */
  readonly stepSlots: StepSlotStore;
  /** Prepares the database for the first saga of this process, and stores nothing. Default: there is nothing to prepare. */
  prepare?(): Promise<void>;
  /**
   * Stores new sagas; results in the order of the arguments. The batch succeeds or fails as one. `relaxed`: it is answered
   * for before it is safe from a crash of the database.
   */
  start(sagas: readonly NewSaga[], lease: Lease, durability?: Durability): Promise<StartResult[]>;
  /** Starts a saga inside the caller's transaction: no commit, no saga. */
  startWithin(transaction: unknown, saga: NewSaga, lease: Lease): Promise<StartResult>;
  /**
   * Stores checkpoints, at most one per saga; results in the order of the arguments. The batch succeeds or fails as
   * one. One that concerns other sagas comes alone. `relaxed`: as for `start`.
   */
  checkpoint(checkpoints: readonly Checkpoint[], durability?: Durability): Promise<CheckpointResult[]>;
  /**
   * Runs `work` in a transaction and stores the checkpoint that it returns in the same one. Commits if that
   * was saved; otherwise everything is rolled back.
   * @param held the saga, whose lease is looked at once `work` begins
   */
  transact(
    work: (transaction: StepTransaction) => Promise<Checkpoint>,
    held: Pick<HeldLease, 'id' | 'epoch'>,
  ): Promise<CheckpointResult>;
  /**
   * Takes the most urgent due sagas without a valid lease. An expired lease that counts for a `limit` is lost
   * once another saga takes its slot. A claim that frees slots without using them announces them, if other sagas were
   * turned away.
   */
  claim(request: ClaimRequest): Promise<Claim>;
  renew(leases: readonly HeldLease[], lease: Lease): Promise<RenewResult>;
  /**
   * Releases leases under which nothing has started, as if they had not been taken. The sagas are due again after
   * `delay` milliseconds. Takeovers that were counted stay counted. Leases of other workers are unchanged.
   */
  giveBack(
    leases: readonly { readonly id: string; readonly epoch: number }[],
    lease: Lease,
    delay: number,
  ): Promise<void>;
  /** Takes the earliest times that keep the limit for so many attempts. Each time is given out once. */
  reserve(limit: RateRequest, attempts: number): Promise<Reservation>;
  load(target: StoreTarget): Promise<StoredSaga | undefined>;
  find(filter: StoreFilter): Promise<StoredSummary[]>;
  /** The steps of running sagas that wait for an operator's decision and have none yet, the oldest first: see `tasksOf`. */
  tasks(filter: StoreTaskFilter): Promise<StoredTask[]>;
  /** Changes a saga under its row's lock; undefined: no such saga. What `change` throws is thrown, and nothing changes. */
  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined>;
  /**
   * Stores signals; results in the order of the arguments. The same commit makes a saga that waits for the signal due,
   * and asks the worker that holds a saga to look.
   * A signal is refused if no step of the saga's own graph waits for its name: the graph that the instance keeps, or the
   * deployed one of its version. Of a graph that is neither stored nor in `awaited`, nothing is refused.
   * @param awaited what this process knows; default: nothing is refused, as for the decision of an operator
   */
  signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]>;
  /**
   * Stores a signal inside the caller's transaction: no commit, no signal. The saga's row is locked until the transaction
   * ends.
   */
  signalWithin(
    transaction: unknown,
    signal: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ): Promise<SignalResult>;
  /**
   * Makes sagas of these names and versions due again that were due before the store's clock was set back. What waits for a time that
   * had not come then waits until it comes.
   */
  catchUp(sagas: readonly Pick<ClaimedSaga, 'name' | 'version'>[]): Promise<void>;
  /** Marks sagas of these names that have become overdue, and tells which: each once. */
  markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]>;
  stats(): Promise<StoreStats>;
  /** What operators did to this saga, and what it was sent: the latest of it, oldest first. */
  history(id: string, limit: number): Promise<HistoryRecord[]>;
  /** What this saga was sent and has not taken yet, as far as that is stored; in order. */
  pendingSignals(id: string): Promise<readonly StoredSignal[]>;
  /** Returns those of these sagas that are terminal. */
  ended(ids: readonly string[]): Promise<StoredSaga[]>;
  /** Which of these are settled by now; the others will be announced when they are. */
  watch(ids: readonly string[]): Promise<(StoredSaga | UnreadableSaga)[]>;
  /**
   * How far these sagas have come, of those that exist. Those that were deleted soon after their end (`DELETION_KNOWN_FOR`)
   * are `BEYOND`, so that nothing of them is put back. A saga that is not among them was never stored, or was lost.
   */
  revisions(ids: readonly string[]): Promise<readonly SagaRevision[]>;
  /**
   * Returns those of these sagas that differ from what was seen of them, and those that do not exist: see `seenOf`. Reads, and marks
   * nothing.
   */
  changes(watched: readonly SeenSaga[]): Promise<SagaChange[]>;
  /** Which of these ids no saga has. */
  missing(ids: readonly string[]): Promise<string[]>;
  /** All schedules, by the names of their sagas. */
  schedules(): Promise<{ readonly schedules: readonly StoredSchedule[]; readonly now: number }>;
  /**
   * Changes the schedule of a saga under its row's lock, and starts a saga in the same transaction. What `change` throws is
   * thrown, and nothing changes. Undefined: nothing was changed.
   */
  editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined>;
  /** The pauses of steps. */
  readonly pauses: StepPauseStore;
  /** The database does not do its work, so that the call may be repeated: its error says nothing about the sagas. */
  isOutage(error: unknown): boolean;
  /** An outage that ends by itself: a lost connection, a failover, a deadlock. Others are reported as errors. */
  isTransient(error: unknown): boolean;
  /** The database refuses what the call was given, each time. Only such an error fails a step whose method has succeeded. */
  refuses(error: unknown): boolean;
  /**
   * When a failover was last noticed, in monotonic ms. What was written before may be gone: a standby was promoted that did
   * not have it. A statement that was made before and not yet sent fails with a transient error. -Infinity: never.
   */
  readonly lastFailoverAt: number;
}

/** A second of waiting is worth a tenth of a point of priority: nothing starves, and 100 is ahead by 1,000 s. */
export const PRIORITY_POINT_MS = 10_000;
