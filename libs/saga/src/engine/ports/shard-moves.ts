import type { StoreTarget } from './saga-store.js';

/**
 * Why a saga stays on its shard.
 * - `running`: a worker has its lease
 * - `too-many`: it belongs to more than 1,000 sagas that move only together
 * - `lock-held`: another saga has its lock on the other shard
 * - `schedule`: it is the last saga that a schedule has started
 * - `messages`: messages of it are in the outbox, and not sent yet
 * - `transactional`: it has transactional steps, whose data is in the database of its shard
 * - `graph`: the other shard does not have its graph
 * - `correlation-id`: another saga has its correlation id on the other shard
 * - `no-shard`: its new home accepts no sagas, or cannot be reached
 */
export type StayReason =
  | 'running'
  | 'too-many'
  | 'lock-held'
  | 'schedule'
  | 'messages'
  | 'transactional'
  | 'graph'
  | 'correlation-id'
  | 'no-shard';

/** What decides where a saga has its home. */
export interface MovedKeys {
  readonly id: string;
  readonly name: string;
  readonly correlationId?: string;
  readonly lockKey?: string;
  readonly parentId?: string;
}

/** A saga of a shard that is to be emptied. */
export interface MovableSaga extends MovedKeys {
  /** Whether other sagas move with it: see `ShardMoves.group()`. */
  readonly isGrouped: boolean;
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

/** A move of one saga, or of several that move only together. */
export interface GroupMove {
  readonly sagas: readonly string[];
  /** The id of the move. */
  readonly move: string;
  /** The name of the new shard. */
  readonly to: string;
}

/** A saga that has left its shard, and is on its way to another. */
export interface SealedSaga extends MovedKeys {
  readonly version: number;
  /** The graph that it goes by, as JSON. */
  readonly graph: string;
  /** All that is stored of it, as JSON. */
  readonly rows: string;
}

/** Sagas that have left their shard, and are on their way to another. */
export interface SealedMove extends Pick<GroupMove, 'move' | 'to'> {
  /** In the order of their lock positions. */
  readonly sagas: readonly SealedSaga[];
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
  /** The revisions of the sagas' graphs on the new shard, in the order of the sagas. */
  readonly revisions: readonly number[];
  /** Whether the shard is the home of all the sagas' keys. If not, it is asked for all keys from now on. */
  readonly isHome: boolean;
}

/** The maximum number of sagas that move together: they are written in one transaction. */
export const MOST_TOGETHER = 1_000;

/**
 * The moves of sagas from and to one shard. Sagas belong to the old shard, in its notes, from `seal` up to `arrive`; to the
 * new one from `arrive` on. Each call is one transaction, and may be repeated.
 */
export interface ShardMoves {
  /** The sagas of the shard in the order of their ids. */
  candidates(after: string | undefined, limit: number): Promise<MovableSaga[]>;
  /**
   * The sagas that move only together with a saga, and itself: its parent and its sub-sagas, all that hold its lock or wait for
   * it, theirs, and so on. In the order of their ids. Empty: the saga is not on the shard.
   */
  group(saga: string): Promise<MovedKeys[] | 'too-many'>;
  /**
   * Takes a group out of the shard, and keeps its rows in notes. No call, worker or start finds it there any more.
   * @returns a reason: it stays. 'running' also if the group is another one by now. 'gone': it is not on the shard.
   * 'accepting': the shard accepts sagas, and none is moved
   */
  seal(move: GroupMove): Promise<SealedMove | StayReason | 'gone' | 'accepting'>;
  /** Those that were sealed, and not handed over yet. @param minAge milliseconds since they were sealed, at least. Default: 0 */
  sealed(limit: number, minAge?: number): Promise<SealedMove[]>;
  onTheirWay(): Promise<SagasOnTheirWay>;
  /** The revision of this graph. Undefined: the shard does not have it. */
  revisionOf(saga: Pick<SealedSaga, 'name' | 'version' | 'graph'>): Promise<number | undefined>;
  /** Stores sagas that come from another shard, unless this move has arrived or was refused. A refusal is final. */
  arrive(move: SealedMove, arrival: Arrival): Promise<'arrived' | StayReason>;
  /** Refuses a move that has not arrived. 'arrived': it has. */
  refuse(move: SealedMove, reason: StayReason): Promise<'arrived' | StayReason>;
  /** The sagas have arrived. */
  handOver(move: SealedMove): Promise<void>;
  /** The new shard has refused the sagas. */
  putBack(move: SealedMove): Promise<void>;
  /** Undefined: it was never moved off this shard, or came back from another one by a move. */
  noteOf(target: StoreTarget): Promise<MovedNote | undefined>;
  /** Forgets a saga that was handed over, and exists nowhere any more. */
  forget(move: SagaMove): Promise<void>;
  /** The columns of its tables: sagas move between tables that are alike. */
  columns(): Promise<string>;
}

/** A start was refused: the saga was on this shard, and was moved to another one. */
export class SagaMovedAway extends Error {}
