import type {
  GraphReader,
  GraphStore,
  GraphWriter,
  SagaVersion,
  SagaVersions,
  StoredGraph,
  UnfinishedPage,
  UnfinishedSaga,
  UpgradeTurn,
} from '../../engine/ports/graph-store.js';
import { signalsOf } from '../../definition/describe/graph-record.js';
import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { adoptsGraph } from '../../engine/ports/live-state.js';
import { isTerminal } from '../../machine/saga-state.js';
import { type MemoryRow, sagaOfRow } from './memory-row.js';
import { storedCopy } from './stored-copy.js';

/** All that is kept of graphs. */
export interface MemoryGraphs {
  readonly graphs: readonly StoredGraph[];
  /** The revisions after which the next graph may differ. */
  readonly accepted: ReadonlyMap<string, true>;
  /** The turns at moving instances, by version. */
  readonly turns: ReadonlyMap<string, UpgradeTurn & { readonly dueAt: number; readonly taken: boolean }>;
}

/** The graphs beside the sagas of a MemorySagaStore. */
export class MemoryGraphStore implements GraphStore {
  private graphs: readonly StoredGraph[];
  private readonly accepted: Map<string, true>;
  private readonly turns: Map<string, UpgradeTurn & { readonly dueAt: number; readonly taken: boolean }>;
  /** The end of the last one's turn. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly rows: ReadonlyMap<string, MemoryRow>,
    private readonly now: () => number,
    { graphs, accepted, turns }: MemoryGraphs = { graphs: [], accepted: new Map(), turns: new Map() },
  ) {
    this.graphs = graphs;
    this.accepted = new Map(accepted);
    this.turns = new Map(turns);
  }

  /** All that it keeps, as it is now. */
  get all(): MemoryGraphs {
    const { graphs, accepted, turns } = this;
    return { graphs, accepted, turns };
  }

  async stored(sagas: readonly SagaVersions[]): Promise<StoredGraph[]> {
    const isOne = (graph: StoredGraph) =>
      sagas.some(({ name, version = graph.version }) => isSame({ name, version }, graph));
    return storedCopy(this.graphs.filter(isOne));
  }

  async newest(): Promise<StoredGraph[]> {
    const byName = (a: StoredGraph, b: StoredGraph) =>
      a.name.localeCompare(b.name) || a.version - b.version || a.revision - b.revision;
    // The last one of each stays.
    const newest = new Map([...this.graphs].sort(byName).map((graph) => [sagaLabel(graph), graph]));
    return storedCopy([...newest.values()]);
  }

  /** The names of the signals that the stored graph of an instance waits for; undefined: none is stored. */
  signalsOf(saga: SagaVersion & { readonly graphRevision?: number }): string[] | undefined {
    const revisions = this.graphs.filter((graph) => isSame(graph, saga));
    const { graphRevision = Math.max(...revisions.map(({ revision }) => revision)) } = saga;
    const own = revisions.find(({ revision }) => revision === graphRevision);
    return own && signalsOf(own.graph.steps);
  }

  /** Whether any stored graph of a saga of this name waits for the signal. */
  isAwaited(saga: string, signal: string): boolean {
    return this.graphs.some(({ name, graph }) => name === saga && signalsOf(graph.steps).includes(signal));
  }

  reading<T>(work: (graphs: GraphReader) => Promise<T>): Promise<T> {
    return work(this.reader());
  }

  exclusively<T>(work: (graphs: GraphWriter) => Promise<T>): Promise<T> {
    const done = this.turn.then(async () => {
      const [before, kept] = [this.graphs, new Map<MemoryRow, number | undefined>()];
      try {
        return await work(this.writer(kept));
      } catch (error) {
        this.graphs = before;
        for (const [{ saga }, revision] of kept) Object.assign(saga, { graphRevision: revision });
        throw error;
      }
    });
    this.turn = done.catch(() => undefined);
    return done;
  }

  async unfinished(saga: SagaVersion, limit: number, after = ''): Promise<UnfinishedPage> {
    const rest = this.rowsOf(saga)
      .filter(({ saga: { id } }) => id > after)
      .sort((a, b) => (a.saga.id < b.saga.id ? -1 : 1));
    const sagas = rest.slice(0, limit).map(toUnfinished);
    return { sagas, next: rest.length > limit ? sagas.at(-1)!.id : undefined };
  }

  async takeTurn(
    to: SagaVersion,
    lease: number,
    atOnce: boolean,
  ): Promise<UpgradeTurn | { readonly dueIn: number }> {
    const [now, last] = [this.now(), this.turns.get(sagaLabel(to))];
    if (last && last.dueAt > now && (last.taken || !atOnce)) return { dueIn: last.dueAt - now };
    const turn: UpgradeTurn = last?.progress === undefined ? {} : { progress: last.progress };
    this.turns.set(sagaLabel(to), { ...turn, dueAt: now + lease, taken: true });
    return turn;
  }

  async endTurn(to: SagaVersion, progress: string, dueIn: number): Promise<void> {
    this.turns.set(sagaLabel(to), { progress, dueAt: this.now() + dueIn, taken: false });
  }

  private reader(): GraphReader {
    return {
      stored: (sagas) => this.stored(sagas),
      eachUnfinished: async (saga, visit) => visit(this.rowsOf(saga).map(toUnfinished)),
    };
  }

  private writer(kept: Map<MemoryRow, number | undefined>): GraphWriter {
    return {
      ...this.reader(),
      accept: async (saga) => {
        const newest = this.newestOf(saga);
        if (newest) this.accepted.set(revisionOf(newest), true);
        return newest !== undefined;
      },
      isAccepted: async (saga) => {
        const newest = this.newestOf(saga);
        return newest !== undefined && this.accepted.has(revisionOf(newest));
      },
      put: async (graph) => {
        const isOther = (there: StoredGraph) => !isSame(there, graph) || there.revision !== graph.revision;
        this.graphs = [...this.graphs.filter(isOther), storedCopy(graph)];
      },
      keep: async (saga, revision) => {
        const keeps = (row: MemoryRow) => row.saga.graphRevision === undefined && !adoptsGraph(row.saga);
        for (const row of this.rowsOf(saga).filter(keeps)) {
          kept.set(row, undefined);
          Object.assign(row.saga, { graphRevision: revision });
        }
      },
    };
  }

  private newestOf(saga: SagaVersion): StoredGraph | undefined {
    return this.graphs.findLast((graph) => isSame(graph, saga));
  }

  private rowsOf(saga: SagaVersion): MemoryRow[] {
    return [...this.rows.values()].filter(
      (row) => isSame(row.saga, saga) && !isTerminal(row.saga.state.status),
    );
  }
}

function isSame(a: SagaVersion, b: SagaVersion): boolean {
  return a.name === b.name && a.version === b.version;
}

function revisionOf(graph: StoredGraph): string {
  return `${sagaLabel(graph)}#${graph.revision}`;
}

function toUnfinished(row: MemoryRow): UnfinishedSaga {
  return sagaOfRow(row);
}
