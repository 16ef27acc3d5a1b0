import type { EntityManager } from 'typeorm';
import type { Durability } from '../../definition/options/saga-options.js';
import type { SagaCodecError } from '../../errors.js';
import type { Operation, StoredOperation } from './operation.js';
import type { OutgoingMessage } from '../payload/outgoing-message.js';
import { isTerminal, type LostLease, type SagaState } from '../../machine/saga-state.js';
import { type SagaStatus } from '../../definition/types/saga-status.js';

/** A saga to be stored for the first time. */
export interface NewSaga {
  readonly id: string;
  /** The id was made for this call: a row that has it is this call's, whose acknowledgement was lost. */
  readonly fresh: boolean;
  readonly name: string;
  readonly version: number;
  readonly correlationId?: string;
  /** JSON text; undefined: none. */
  readonly input?: string;
  /** 0 to 100. */
  readonly priority: number;
  readonly tags?: Readonly<Record<string, string>>;
  /** Milliseconds from now at which it may begin. */
  readonly delay?: number;
  /** Milliseconds since the epoch at which it may begin. */
  readonly startAt?: number;
  /** Milliseconds for going forward, from when it may begin: the state's deadline. */
  readonly timeout?: number;
  /** Milliseconds from when it may begin, past which it is overdue. */
  readonly sla?: number;
  /** The names of its first steps, for people who look at the row. */
  readonly step: string;
  /** Of the sagas of this name with this key one is active at a time; it is never leased by its start. */
  readonly lockKey?: string;
  /** True: whoever stores it takes the lease with the same statement. */
  readonly leased: boolean;
}

/** The step of another saga that a saga was started by, and that waits for it. */
export interface Parent {
  readonly id: string;
  /** The step's name. */
  readonly step: string;
}

/** A saga that is started together with a checkpoint of its parent's. */
export interface Child extends NewSaga {
  readonly parent: Parent;
}

export interface Lease {
  readonly worker: string;
  /** Milliseconds. */
  readonly duration: number;
}

/** `created`: this call stored it. Otherwise it is the saga with the same id or correlation id. */
export type StartResult =
  | { readonly created: true; readonly leased: boolean; readonly now: number }
  | { readonly created: false; readonly existing: ExistingSaga };

export interface ExistingSaga {
  readonly id: string;
  readonly name: string;
  readonly correlationId?: string;
  /** The input that it was started with. */
  readonly input?: string;
  /** The input cannot be read here. */
  readonly unreadable?: SagaCodecError;
}

/** A saga of which something cannot be read here. */
export interface UnreadableSaga {
  readonly id: string;
  readonly unreadable: SagaCodecError;
}

/** A saga as it is stored. Times are milliseconds since the epoch, by the database's clock. */
export interface StoredSaga {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  /** The revision of its version's graph that it keeps, since there is a newer one; undefined: the newest. */
  readonly graphRevision?: number;
  readonly correlationId?: string;
  readonly input?: string;
  /** The input that the saga was started with, if an operator has replaced it since. Only `load` and `edit` read it. */
  readonly startedWith?: { readonly input?: string };
  readonly priority: number;
  readonly tags?: Readonly<Record<string, string>>;
  readonly state: SagaState;
  /** The fencing token: every claim and every operator's edit raises it. */
  readonly epoch: number;
  /** The number of the last checkpoint. */
  readonly checkpoints: number;
  readonly lockedBy?: string;
  /** When a claim gave the lease to its holder; undefined: nobody holds it, or its holder has it since the start. */
  readonly leasedAt?: number;
  /** The last leases that were lost since anything was recorded, oldest first: those that `takeovers` counts. */
  readonly lostLeases?: readonly LostLease[];
  /** When a worker should look at it: due time, or end of the lease while it has one. Undefined: idle. */
  readonly dueAt?: number;
  /** How often it was taken over from a lost worker since anything was recorded. */
  readonly takeovers: number;
  /** The same since anything of it came to an end: what only waits, and is lost again and again, is recorded in between. */
  readonly losses: number;
  readonly cancelRequested?: { readonly reason?: string };
  /** Whoever holds it, or claims it next, is to let it come to rest. */
  readonly pauseRequested?: boolean;
  /** When it is overdue, if it has not finished by then. */
  readonly slaAt?: number;
  /** It was told that it is. */
  readonly overdue?: boolean;
  /** What operators did last, oldest first, of one that is loaded by itself; undefined: nothing. */
  readonly operations?: readonly StoredOperation[];
  readonly parent?: Parent;
  /** What it was sent and has not taken yet, in order; undefined: nothing. */
  readonly signals?: readonly StoredSignal[];
  /** Its semantic lock, from its arrival until it is terminal or has left the line. */
  readonly lock?: SagaLock;
  /** It did not get its semantic lock, since to wait for it would be to wait for ever: whoever claims it lets it fail. */
  readonly deadlock?: LockDeadlock;
  /** Of one that is loaded while it is due: leases of its name's `concurrency` that count now. Undefined: none. */
  readonly slotsTaken?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt?: number;
  readonly stepTimes: ReadonlyMap<string, { readonly startedAt: number; readonly updatedAt: number }>;
}

/** Something that a saga is told from outside. */
export interface SentSignal {
  readonly name: string;
  /** One that the saga has been sent already is dropped. */
  readonly messageId: string;
  /** JSON text; undefined: none. */
  readonly payload?: string;
}

/** A signal that no step has taken yet. */
export interface StoredSignal extends SentSignal {
  /** 1, 2, …: in the order in which a saga was sent them. */
  readonly number: number;
}

/** A saga that has become overdue. */
export interface OverdueSaga {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly correlationId?: string;
  readonly status: SagaStatus;
  readonly step: string;
  readonly slaAt: number;
}

/** What there is to do. */
export interface StoreStats {
  readonly now: number;
  /** Of those that have not ended. */
  readonly sagas: readonly {
    readonly name: string;
    readonly version: number;
    readonly status: SagaStatus;
    readonly count: number;
  }[];
  /** Sagas that nobody holds, and that are due; since when the first one is. */
  readonly due: number;
  readonly oldestDue?: number;
  readonly overdue: number;
  /** Messages in the outbox, up to a bound; those of them that are dead; when the oldest of the others was published. */
  readonly messages: number;
  readonly dead: number;
  readonly oldestMessage?: number;
}

/** `signal`: something that the saga was sent, an operator's decisions apart. */
export type HistoryRecord =
  StoredOperation | { readonly action: 'signal'; readonly signal: string; readonly at: number };

/**
 * The signals that steps of sagas wait for, by saga and version as in `payment@1`: of those that a process knows. What is
 * sent to others is not checked.
 */
export type AwaitedSignals = Readonly<Record<string, readonly string[]>>;

/**
 * `known`: one with its message id came before. `refused`: no step of the saga waits for a signal of this name. `ended`:
 * the saga has ended.
 */
export type SignalResult =
  | { readonly outcome: 'kept' | 'known' | 'refused' | 'ended'; readonly saga: SignalledSaga }
  | { readonly outcome: 'unknown' };

export interface SignalledSaga {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly status: SagaStatus;
}

export interface SagaLock {
  readonly key: string;
  readonly held: boolean;
  /** Of one that is loaded while it waits: the saga that holds the lock, or is about to. */
  readonly holder?: string;
}

/** A circle of sagas that wait for each other's semantic locks, as seen by one that would have closed it. */
export interface LockDeadlock {
  /** The key that it would have waited for. */
  readonly key: string;
  /** Who holds that. */
  readonly holder: { readonly id: string; readonly name: string };
  /** The ancestor of the saga, and its key, that the holder's family waits for. */
  readonly held: { readonly id: string; readonly name: string; readonly key: string };
}

/** What changed since the last checkpoint, to be stored if, and only if, the epoch still holds. */
export interface Checkpoint {
  readonly id: string;
  readonly epoch: number;
  /** Higher than that of any before: one that arrives after later ones (its connection broke) changes nothing any more. */
  readonly number: number;
  readonly state: SagaState;
  /** Names of the steps to write: those that changed. */
  readonly changed: readonly string[];
  /** No step of `changed` was ever stored before. Default: not known. */
  readonly fresh?: boolean;
  /** Milliseconds that each changed step's attempt took, by name, where known. */
  readonly elapsed?: ReadonlyMap<string, number>;
  /** Where it stands, for people who look at the row: the steps in progress or next. */
  readonly step: string;
  /** Something of it has come to an end: its losses count anew. */
  readonly advances: boolean;
  /** The holder of the lease knows of the cancellation, if there is one. */
  readonly cancelSeen: boolean;
  /** The same of a request to stand still. */
  readonly pauseSeen: boolean;
  /** Gives the lease back; `dueAt` (milliseconds since the epoch): when to look again, undefined: never by itself. */
  readonly release?: { readonly dueAt?: number };
  /** The saga's semantic lock: a terminal checkpoint hands it on. */
  readonly lock?: { readonly name: string; readonly key: string };
  /** Of a saga that another waits for: a terminal checkpoint wakes that one. */
  readonly parent?: Parent;
  /** Sagas that are stored if, and only if, this is saved. */
  readonly starts?: readonly Child[];
  /**
   * Of a saga that is stored relaxed: the last checkpoint that was saved. If that is gone, since the database lost it in a
   * crash, this is refused as one of a lost lease, and the saga is due: it goes on from what is there.
   */
  readonly after?: number;
  /** For the outbox, in order: stored if, and only if, this is saved. */
  readonly messages?: readonly StoredMessage[];
}

/** A message on its way into the outbox. */
export interface StoredMessage extends OutgoingMessage {
  /** A UUID. */
  readonly id: string;
}

/** It concerns more sagas than its own, in the same commit, and so is written by itself. */
export function concernsOthers({ parent, starts, state }: Checkpoint): boolean {
  return (starts !== undefined && starts.length > 0) || (parent !== undefined && isTerminal(state.status));
}

/**
 * `saved`: it is stored, now or by an earlier try whose answer was lost. `fenced`: the lease is another's.
 * `cancelled`: a cancellation, or a pause, was asked for that the checkpoint does not know of.
 */
export type CheckpointResult = 'saved' | 'fenced' | 'cancelled';

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
  /** It holds no large saga: the first one is taken whatever its size, or it would never run. */
  readonly alone: boolean;
}

export interface ClaimedSaga {
  readonly name: string;
  readonly version: number;
  /** Of this name, in all versions, no more than so many are leased at any time. The same for all versions. */
  readonly concurrency?: number;
}

export interface Claim {
  readonly sagas: readonly StoredSaga[];
  /** The database's clock. */
  readonly now: number;
  /**
   * When the next saga of these names will be due, as far as is known now. In the past: one is due that was not
   * taken, because of the limit or because someone else was looking at it at this moment. Where `concurrency` is used
   * up, it is when the next of those leases will end, if nobody renews it.
   */
  readonly nextDueAt?: number;
  /** True: due sagas were left since the worker has no room for their bytes. They are not in `nextDueAt`. */
  readonly heavy?: boolean;
  /** Why some that were taken were given back at once; the others are here. */
  readonly failure?: unknown;
}

/** At most `count` attempts of a saga's step may begin within any `per` milliseconds, the first of them in `ahead`. */
export interface RateLimit {
  readonly saga: string;
  readonly step: string;
  readonly count: number;
  readonly per: number;
  /** Milliseconds, for those to whom the answer takes its time; default: 0. */
  readonly ahead?: number;
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
  /** Those that are to come to rest. */
  readonly paused: readonly string[];
  readonly now: number;
}

export type StoreTarget = { readonly id: string } | { readonly name: string; readonly correlationId: string };

/** A change to a saga under its row's lock. `operation`: what is kept of it in the saga's history. */
export type Edit = EditKind & { readonly operation?: Operation };

/**
 * A new state (the lease, if any, is taken away), a request to the lease's holder, something that the saga waits for, or
 * nothing but what is kept in its history.
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
  | { readonly signal: SentSignal };

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
  /** Ids below this one only. */
  readonly before?: string;
  readonly limit: number;
}

export interface StoredSummary {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly correlationId?: string;
  readonly status: SagaStatus;
  /** The direction of a saga that is stuck, suspended or paused. */
  readonly heldPhase?: 'running' | 'compensating';
  /** Of the last checkpoint. */
  readonly revision: number;
  readonly step: string;
  readonly error?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt?: number;
}

/**
 * The engine's seam to the database: batch-first, and small enough that another database could be put behind
 * it. Every implementation passes `saga-store.contract.ts`. Methods throw what their database throws;
 * `isTransient` tells which of it goes away by itself.
 */
export interface SagaStore {
  /**
   * Stores new sagas; results in the order of the arguments. The batch succeeds or fails as one. `relaxed`: it is answered
   * for before it is safe from a crash of the database.
   */
  start(sagas: readonly NewSaga[], lease: Lease, durability?: Durability): Promise<StartResult[]>;
  /** The same inside the caller's transaction: no commit, no saga. */
  startWithin(manager: EntityManager, saga: NewSaga, lease: Lease): Promise<StartResult>;
  /**
   * Stores checkpoints, at most one per saga; results in the order of the arguments. The batch succeeds or fails as
   * one. One that concerns other sagas comes alone. `relaxed`: as for `start`.
   */
  checkpoint(checkpoints: readonly Checkpoint[], durability?: Durability): Promise<CheckpointResult[]>;
  /**
   * Runs `work` in a transaction and stores the checkpoint that it returns in the same one. Commits if that
   * was saved; otherwise everything is rolled back.
   */
  transact(work: (manager: EntityManager) => Promise<Checkpoint>): Promise<CheckpointResult>;
  /**
   * Takes due sagas, the most urgent ones, that nobody else holds. A lease that ran out and counted for a
   * `concurrency` is its holder's no more once another takes its place. A claim that finds places free again which it
   * has no use for announces them, if others were turned away.
   */
  claim(request: ClaimRequest): Promise<Claim>;
  renew(
    leases: readonly { readonly id: string; readonly epoch: number }[],
    lease: Lease,
  ): Promise<RenewResult>;
  /**
   * Gives leases back under which nothing was begun, as if they had not been taken: due again after so many
   * milliseconds. What a takeover counted stays counted. One that is another's by now is left alone.
   */
  giveBack(
    leases: readonly { readonly id: string; readonly epoch: number }[],
    lease: Lease,
    delay: number,
  ): Promise<void>;
  /** Takes the earliest times that keep the limit for so many attempts: nobody else will be given them. */
  reserve(limit: RateLimit, attempts: number): Promise<Reservation>;
  load(target: StoreTarget): Promise<StoredSaga | undefined>;
  find(filter: StoreFilter): Promise<StoredSummary[]>;
  /** Changes a saga under its row's lock; undefined: no such saga. What `change` throws is thrown, and nothing changes. */
  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined>;
  /**
   * Tells sagas something; results in the order of the arguments. A saga that waits for it is due with the same
   * commit, whoever holds one is told to look, and others are told once they wait for it.
   * @param awaited signals of other names are refused for these sagas; default: none are
   */
  signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]>;
  /** Marks sagas of these names that have become overdue, and tells which: each once. */
  markOverdue(names: readonly string[], limit: number): Promise<OverdueSaga[]>;
  stats(): Promise<StoreStats>;
  /** What operators did to this saga, and what it was sent: the latest of it, oldest first. */
  history(id: string, limit: number): Promise<HistoryRecord[]>;
  /** What this saga was sent and has not taken yet, as far as that is stored; in order. */
  pendingSignals(id: string): Promise<readonly StoredSignal[]>;
  /** Those of these sagas that are terminal. */
  ended(ids: readonly string[]): Promise<StoredSaga[]>;
  /** Which of these are settled by now; the others will be announced when they are. */
  watch(ids: readonly string[]): Promise<(StoredSaga | UnreadableSaga)[]>;
  /** Which of these ids no saga has. */
  missing(ids: readonly string[]): Promise<string[]>;
  isTransient(error: unknown): boolean;
}

/** A second of waiting is worth a tenth of a point of priority: nothing starves, and 100 is ahead by 1,000 s. */
export const PRIORITY_POINT_MS = 10_000;
