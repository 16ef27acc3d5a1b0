import type { SagaCodecError } from '../../errors.js';
import type { StoredOperation } from './operation.js';
import type { SagaState, LostLease } from '../../machine/saga-state.js';
import type { StepNotes } from '../../machine/step-notes.js';

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
  /** The key of the semantic lock: one saga of this name and key is active at a time. A start never takes its lease. */
  readonly lockKey?: string;
  /** The saga is not stored while another saga has its lock, or waits for it. */
  readonly lockRejects?: true;
  /** The key of its limit: how many sagas of one key run at once is bounded. */
  readonly limitKey?: string;
  /** True: the process that stores it takes the lease with the same statement. */
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
/** A lease that is to be extended. */
export interface HeldLease {
  readonly id: string;
  readonly epoch: number;
  /**
   * The latest time that its holder has taken for the store's since it has the lease, in milliseconds since the epoch: it may have
   * begun what was due by then. Where the store's clock is a second behind that, the lease counts as taken then.
   */
  readonly seen?: number;
  /** What is stored with it in place of the saga's reports. Undefined: they stay. */
  readonly reports?: string;
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
  /** The run that holds the saga changes them once it has stored those that a step has set. */
  tags?: Readonly<Record<string, string>>;
  readonly state: SagaState;
  /** What of `state.steps` and `stepTimes` is noted, and not in the steps' rows; undefined: nothing. */
  readonly notes?: StepNotes;
  /** The fencing token: every claim and every operator's edit raises it. */
  readonly epoch: number;
  /** The number of the last checkpoint. */
  readonly checkpoints: number;
  readonly lockedBy?: string;
  /** When a claim gave the lease to its holder. Undefined: no worker holds it, or its holder has it since the start. */
  readonly leasedAt?: number;
  /** The last leases that were lost since anything was recorded, oldest first: those that `takeovers` counts. */
  readonly lostLeases?: readonly LostLease[];
  /** When a worker should look at it: due time, or end of the lease while it has one. Undefined: idle. */
  readonly dueAt?: number;
  /** How often it was taken over from a lost worker since anything was recorded. */
  readonly takeovers: number;
  /**
   * The takeovers since a step or a wait ended. A saga that only waits, and is lost again and again, records in
   * between.
   */
  readonly losses: number;
  readonly cancelRequested?: { readonly reason?: string };
  /** The worker that holds the saga, or claims it next, pauses it. */
  readonly pauseRequested?: boolean;
  /** What its steps have reported of their attempts, as JSON text: see step-reports.ts. Undefined: nothing. */
  readonly reports?: string;
  /** When it is overdue, if it has not finished by then. */
  readonly slaAt?: number;
  /** The saga was reported as overdue. */
  readonly overdue?: boolean;
  /** What operators did last, oldest first, of one that is loaded by itself; undefined: nothing. */
  readonly operations?: readonly StoredOperation[];
  readonly parent?: Parent;
  /** What it was sent and has not taken yet, in order; undefined: nothing. */
  readonly signals?: readonly StoredSignal[];
  /** The saga's semantic lock, from its arrival until it is terminal or has left the queue. */
  readonly lock?: SagaLock;
  /**
   * The saga does not get its semantic lock, because waiting for it would never end. The worker that claims it lets it fail.
   */
  readonly deadlock?: LockDeadlock;
  /**
   * If it is loaded while it is due: the number of leases that count for the `limit` of its name, and of its key.
   * Undefined: none.
   */
  readonly slotsTaken?: number;
  /** If it is loaded: the key of its limit. */
  readonly limitKey?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt?: number;
  readonly stepTimes: ReadonlyMap<string, { readonly startedAt: number; readonly updatedAt: number }>;
}
/** A signal for a saga. */
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
  /** When it was sent, by the store's clock. */
  readonly at: number;
}
export interface SagaLock {
  readonly key: string;
  readonly held: boolean;
  /** If it is loaded while it waits: the saga that holds the lock, or is about to. */
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

/** `created`: this call stored it. Otherwise it is the saga with the same id or correlation id. */
export type StartResult =
  | { readonly created: true; readonly leased: boolean; readonly now: number }
  | { readonly created: false; readonly existing: ExistingSaga }
  | LockRefusal;

/** Nothing was stored: `lockHolder` is the saga that has the lock, or is next to. */
export interface LockRefusal {
  readonly created: false;
  readonly existing?: undefined;
  readonly lockHolder: string;
}

/** `input`: the one that the saga was started with. */
export interface ExistingSaga extends Pick<NewSaga, 'id' | 'name' | 'correlationId' | 'input'> {
  /** The input cannot be read here. */
  readonly unreadable?: SagaCodecError;
}
