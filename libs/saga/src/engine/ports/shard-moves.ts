import type { StoreTarget } from './saga-store.js';

/**
 * Why a saga stays on its shard.
 * - `running`: a worker has its lease
 * - `sub-sagas`: it has sub-sagas or remote steps, or is one
 * - `lock-key`: it has a lock key
 * - `schedule`: it is the last saga that a schedule has started
 * - `messages`: messages of it are in the outbox, and not sent yet
 * - `transactional`: it has transactional steps, whose data is in the database of its shard
 * - `graph`: the other shard does not have its graph
 * - `correlation-id`: another saga has its correlation id on the other shard
 * - `no-shard`: its new home accepts no sagas, or cannot be reached
 */
export type StayReason =
  | 'running'
  | 'sub-sagas'
  | 'lock-key'
  | 'schedule'
  | 'messages'
  | 'transactional'
  | 'graph'
  | 'correlation-id'
  | 'no-shard';

/** A saga of a shard that is to be emptied. */
export interface MovableSaga {
  readonly id: string;
  readonly name: string;
  readonly correlationId?: string;
  /** Undefined: it may be moved. */
  readonly stays?: StayReason;
}

/** A move of a saga to another shard. */
export interface SagaMove {
  readonly saga: string;
  /** The id of the move. */
  readonly move: string;
  /** The name of the new shard. */
  readonly to: string;
}

/** A saga that has left its shard, and is on its way to another. */
export interface SealedSaga extends SagaMove {
  readonly name: string;
  readonly version: number;
  readonly correlationId: string | null;
  /** The graph that it goes by, as JSON. */
  readonly graph: string;
  /** All that is stored of it. */
  readonly rows: string;
}

/** Where a saga has gone that was on this shard. */
export interface MovedNote extends SagaMove {
  /** `sealed`: it is on its way, or has just arrived. `handed`: it has arrived. `returned`: it came back to this shard. */
  readonly state: 'sealed' | 'handed' | 'returned';
}

/** The sagas that have left a shard, and were not handed over to another one yet. */
export interface SagasOnTheirWay {
  readonly count: number;
  /** Milliseconds since the first of them has left, by the clock of the database. 0: there is none. */
  readonly oldest: number;
}

export interface Arrival {
  /** The revision of the saga's graph on the new shard. */
  readonly revision: number;
  /** Whether the shard is the home of the saga's keys. If not, it is asked for all keys from now on. */
  readonly isHome: boolean;
}

/**
 * The moves of sagas from and to one shard. A saga belongs to the old shard, in its note, from `seal` up to `arrive`; to the
 * new one from `arrive` on. Each call is one transaction, and may be repeated.
 */
export interface ShardMoves {
  /** The sagas of the shard in the order of their ids. */
  candidates(after: string | undefined, limit: number): Promise<MovableSaga[]>;
  /**
   * Takes a saga out of the shard, and keeps its rows in a note. No call, worker or start finds it there any more.
   * @returns a reason: it stays. 'gone': it is not on the shard. 'accepting': the shard accepts sagas, and none is moved
   */
  seal(move: SagaMove): Promise<SealedSaga | StayReason | 'gone' | 'accepting'>;
  /** Those that were sealed, and not handed over yet. @param minAge milliseconds since they were sealed, at least. Default: 0 */
  sealed(limit: number, minAge?: number): Promise<SealedSaga[]>;
  onTheirWay(): Promise<SagasOnTheirWay>;
  /** The revision of this graph. Undefined: the shard does not have it. */
  revisionOf(saga: Pick<SealedSaga, 'name' | 'version' | 'graph'>): Promise<number | undefined>;
  /** Stores a saga that comes from another shard, unless this move has arrived or was refused. A refusal is final. */
  arrive(saga: SealedSaga, arrival: Arrival): Promise<'arrived' | StayReason>;
  /** Refuses a move that has not arrived. 'arrived': it has. */
  refuse(move: SagaMove, reason: StayReason): Promise<'arrived' | StayReason>;
  /** The saga has arrived. */
  handOver(move: SagaMove): Promise<void>;
  /** The new shard has refused the saga. */
  putBack(saga: SealedSaga): Promise<void>;
  /** Undefined: it was never moved off this shard, or came back from another one by a move. */
  noteOf(target: StoreTarget): Promise<MovedNote | undefined>;
  /** Forgets a saga that was handed over, and exists nowhere any more. */
  forget(move: SagaMove): Promise<void>;
  /** The columns of its tables: sagas move between tables that are alike. */
  columns(): Promise<string>;
}

/** A start was refused: the saga was on this shard, and was moved to another one. */
export class SagaMovedAway extends Error {}
