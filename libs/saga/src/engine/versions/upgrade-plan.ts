import type { GraphRecord } from '../../definition/describe/graph-record.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { obstacleToMove } from '../../machine/can-upgrade.js';
import type { GraphReader, StoredGraph, UnfinishedSaga } from '../ports/graph-store.js';

/** Why an instance stays on its version. */
export interface Obstacle {
  /** A sentence without its end. */
  readonly problem: string;
  /** The obstacle goes away by itself, in a moment: nothing that anyone has to know. */
  readonly passing: boolean;
}

/** Decides of instances of one version whether they may move to another. */
export class SagaMoves {
  private readonly records: ReadonlyMap<number, GraphRecord>;
  private readonly newest: GraphRecord | undefined;

  /** @param stored the revisions of the version that they are moved from */
  constructor(
    readonly to: SagaGraph,
    stored: readonly StoredGraph[],
  ) {
    this.records = new Map(stored.map(({ revision, graph }) => [revision, graph]));
    this.newest = stored.at(-1)?.graph;
  }

  /** What keeps it from moving right now; undefined: nothing. */
  obstacleOf(saga: UnfinishedSaga): Obstacle | undefined {
    // Also one whose lease ran out: what its worker was doing has to be found out before anything else.
    if (saga.lockedBy !== undefined) return { problem: 'a worker runs it', passing: true };
    return this.lastingObstacleOf(saga);
  }

  /** Returns what prevents an upgrade once the worker that runs the saga has released it. */
  lastingObstacleOf({ state, cancelRequested, graphRevision }: UnfinishedSaga): Obstacle | undefined {
    // The request of one that a pivot has overtaken stays in its row, and comes to nothing any more.
    if (cancelRequested && state.overtaken?.kind !== 'cancelled')
      return { problem: 'it is being cancelled', passing: true };
    const from = graphRevision === undefined ? this.newest : this.records.get(graphRevision);
    const problem = from
      ? obstacleToMove(from, this.to, state)
      : 'the graph that it uses is not stored any more';
    return problem === undefined ? undefined : { problem, passing: false };
  }
}

/** What a move of a version's running instances would come to. */
export interface ExpectedMoves {
  readonly from: number;
  readonly moving: number;
  readonly staying: number;
  /** The first few of those that stay, and why. */
  readonly reasons: readonly { readonly id: string; readonly problem: string }[];
}

/** Reasons that are named, where there may be any number of instances. */
export const REASONS_NAMED = 10;

/** Counts, for each version that a graph says it upgrades from, how many would move; nothing is changed. */
export async function expectedMoves(to: SagaGraph, graphs: GraphReader): Promise<ExpectedMoves[]> {
  const expected: ExpectedMoves[] = [];
  for (const version of to.upgradeFrom ?? []) {
    const from = { name: to.name, version };
    const moves = new SagaMoves(to, await graphs.stored([from]));
    let moving = 0;
    let staying = 0;
    const reasons: { id: string; problem: string }[] = [];
    await graphs.eachUnfinished(from, (batch) => {
      for (const saga of batch) {
        const obstacle = moves.lastingObstacleOf(saga);
        if (!obstacle) moving += 1;
        else {
          staying += 1;
          if (reasons.length < REASONS_NAMED) reasons.push({ id: saga.id, problem: obstacle.problem });
        }
      }
    });
    expected.push({ from: version, moving, staying, reasons });
  }
  return expected;
}
