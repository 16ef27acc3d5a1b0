import { type BoundGraph, bindGraph, type Gap } from '../../definition/describe/bind-graph.js';
import { type SagaGraph, sagaLabel } from '../../definition/graph/saga-graph.js';
import type { SagaVersion, StoredGraph } from '../ports/graph-store.js';
import type { Invoker, RunnableSaga } from '../ports/invoker.js';

/** What an instance goes by: the graph that it keeps, and the methods of the class as it is deployed. */
export interface BoundSaga extends BoundGraph {
  readonly invoke: Invoker;
}

/** An instance, as far as it says what it goes by. */
export interface Revised extends SagaVersion {
  readonly graphRevision?: number;
}

/** What an operator can do about an instance that may need what the deployed class does not have. */
export const DRIFT_MEND = 'Deploy the missing steps and compensations and retry the saga, or abort it';

const NO_GAPS: ReadonlyMap<string, Gap> = new Map();

/** The graph that an instance keeps has not been read yet: `load` it, and ask again. */
export class UnreadGraph extends Error {
  constructor(readonly saga: Revised) {
    super(`Revision ${saga.graphRevision} of ${sagaLabel(saga)} has not been read`);
  }
}

/**
 * What each instance goes by. Nearly all go by the graph of the class; those that were running when it changed
 * keep theirs, which is read once and bound to the methods of the class by name.
 */
export class SagaBindings {
  private readonly deployed: ReadonlyMap<string, RunnableSaga>;
  private readonly own: ReadonlyMap<string, BoundSaga>;
  private readonly kept = new Map<string, BoundSaga>();

  constructor(
    sagas: readonly RunnableSaga[],
    private readonly stored: (sagas: readonly SagaVersion[]) => Promise<readonly StoredGraph[]>,
  ) {
    this.deployed = new Map(sagas.map((saga) => [sagaLabel(saga.graph), saga]));
    this.own = new Map(
      sagas.map(({ graph, invoke }) => [sagaLabel(graph), { graph, invoke, gaps: NO_GAPS }]),
    );
  }

  /** Undefined: this application does not have the saga in this version. @throws UnreadGraph */
  of(saga: Revised): BoundSaga | undefined {
    const own = this.own.get(sagaLabel(saga));
    if (!own || saga.graphRevision === undefined) return own;
    const kept = this.kept.get(keyOf(saga));
    if (!kept) throw new UnreadGraph(saga);
    return kept;
  }

  graphOf(saga: Revised): SagaGraph | undefined {
    return this.of(saga)?.graph;
  }

  /** Reads what `of` needs for these. */
  async load(sagas: readonly Revised[]): Promise<void> {
    const unread = sagas.filter((saga) => this.isUnread(saga));
    if (unread.length === 0) return;
    for (const stored of await this.stored(unread)) {
      const saga = { ...stored, graphRevision: stored.revision };
      if (this.isUnread(saga)) this.kept.set(keyOf(saga), this.bind(stored));
    }
    for (const saga of unread) if (this.isUnread(saga)) this.kept.set(keyOf(saga), this.lost(saga));
  }

  private isUnread(saga: Revised): boolean {
    return saga.graphRevision !== undefined && this.own.has(sagaLabel(saga)) && !this.kept.has(keyOf(saga));
  }

  private bind(stored: StoredGraph): BoundSaga {
    const runnable = this.deployed.get(sagaLabel(stored))!;
    return { ...bindGraph(stored.graph, deployedOf(runnable)), invoke: runnable.invoke };
  }

  /** The graph's row was deleted manually: nothing can be said of such an instance, so none of it is run. */
  private lost(saga: Revised): BoundSaga {
    const own = this.own.get(sagaLabel(saga))!;
    const unknown = `its graph (revision ${saga.graphRevision} of ${sagaLabel(saga)}) is not stored any more`;
    const gaps = [...own.graph.steps.keys()].map((name): [string, Gap] => [
      name,
      { run: unknown, undo: unknown },
    ]);
    return { ...own, gaps: new Map(gaps) };
  }
}

/** As a graph is bound to it. */
export function deployedOf({ graph, methods }: RunnableSaga) {
  const named = [...graph.steps.values()].flatMap(({ compensate }) => compensate ?? []);
  return { graph, methods: methods ?? new Set(named) };
}

function keyOf(saga: Revised): string {
  return `${sagaLabel(saga)}#${saga.graphRevision}`;
}
