import type { GraphRecord } from '../../definition/describe/graph-record.js';
import type { StoredSaga } from './stored-saga.js';

export interface SagaVersion {
  readonly name: string;
  readonly version: number;
}

/** A version of a saga, or all that there are. */
export interface SagaVersions {
  readonly name: string;
  readonly version?: number;
}

/** A graph as it was deployed once. */
export interface StoredGraph extends SagaVersion {
  /** 1; one more each time that the graph changed and its version did not. */
  readonly revision: number;
  readonly graph: GraphRecord;
}

/** An instance that has not ended: where it stands, without what its steps were given and gave; errors and reasons as stored. */
export type UnfinishedSaga = Pick<
  StoredSaga,
  | 'id'
  | 'name'
  | 'version'
  | 'graphRevision'
  | 'state'
  | 'checkpoints'
  | 'takeovers'
  | 'lockedBy'
  | 'cancelRequested'
>;

export interface GraphReader {
  /** Every revision that is stored of these versions, the oldest first. */
  stored(sagas: readonly SagaVersions[]): Promise<StoredGraph[]>;
  /** All that have not ended, as of one moment, in batches. */
  eachUnfinished(saga: SagaVersion, visit: (batch: readonly UnfinishedSaga[]) => void): Promise<void>;
}

export interface GraphWriter extends GraphReader {
  /** Stores a revision, or another text of one that is there. */
  put(graph: StoredGraph): Promise<void>;
  /**
   * Sagas that have not ended and go by the newest revision keep this one from now on, unless they adopt the next:
   * `adoptsGraph`.
   */
  keep(saga: SagaVersion, revision: number): Promise<void>;
  /** Accepts that the next graph of a version differs from the newest one. False: none is stored. */
  accept(saga: SagaVersion): Promise<boolean>;
  /** Whether it was accepted since the newest one was stored. */
  isAccepted(saga: SagaVersion): Promise<boolean>;
}

/** A page of what `unfinished` looks through. */
export interface UnfinishedPage {
  readonly sagas: readonly UnfinishedSaga[];
  /** Where the next page begins; undefined: this was the last. */
  readonly next?: string;
}

/** A turn at moving instances to a version. */
export interface UpgradeTurn {
  /** What the turn before left; undefined: there was none. */
  readonly progress?: string;
}

/** The graphs that are stored beside the sagas. Every implementation passes `graph.contract.ts`. */
export interface GraphStore extends Pick<GraphReader, 'stored'> {
  /** The newest revision of every version of every saga that was ever deployed, in the order of their names. */
  newest(): Promise<StoredGraph[]>;
  /** Looks, and changes nothing. */
  reading<T>(work: (graphs: GraphReader) => Promise<T>): Promise<T>;
  /** One after the other, across all processes; what throws leaves everything as it was. */
  exclusively<T>(work: (graphs: GraphWriter) => Promise<T>): Promise<T>;
  /**
   * Returns the sagas that have not ended, a page at a time. One that is being advanced meanwhile may come twice, or on the
   * next pass only.
   * @param after `next` of the page before
   */
  unfinished(saga: SagaVersion, limit: number, after?: string): Promise<UnfinishedPage>;
  /**
   * Takes the turn at moving instances to a version, of which all processes together have one; `dueIn`: milliseconds until
   * it may be taken.
   * @param lease milliseconds after which it may be taken again, if it is not ended
   * @param atOnce takes it before the end of a pause, but not from another process
   */
  takeTurn(
    to: SagaVersion,
    lease: number,
    atOnce: boolean,
  ): Promise<UpgradeTurn | { readonly dueIn: number }>;
  /** @param progress what the next turn is given. @param dueIn milliseconds from now at which that may be taken */
  endTurn(to: SagaVersion, progress: string, dueIn: number): Promise<void>;
}
