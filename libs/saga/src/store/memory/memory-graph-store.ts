import type {
  GraphReader,
  GraphStore,
  GraphWriter,
  SagaVersion,
  SagaVersions,
  StoredGraph,
  UnfinishedPage,
  UnfinishedSaga,
} from '../../engine/graph-store.js';
import { isTerminal } from '../../machine/saga-state.js';
import { type MemoryRow, toStoredSaga } from './memory-row.js';
import { storedCopy } from './stored-copy.js';

/** The graphs beside the sagas of a MemorySagaStore. */
export class MemoryGraphStore implements GraphStore {
  private graphs: readonly StoredGraph[] = [];
  /** The end of the last one's turn. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly rows: ReadonlyMap<string, MemoryRow>) {}

  async stored(sagas: readonly SagaVersions[]): Promise<StoredGraph[]> {
    const isOne = (graph: StoredGraph) =>
      sagas.some(({ name, version = graph.version }) => isSame({ name, version }, graph));
    return storedCopy(this.graphs.filter(isOne));
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

  private reader(): GraphReader {
    return {
      stored: (sagas) => this.stored(sagas),
      eachUnfinished: async (saga, visit) => visit(this.rowsOf(saga).map(toUnfinished)),
    };
  }

  private writer(kept: Map<MemoryRow, number | undefined>): GraphWriter {
    return {
      ...this.reader(),
      put: async (graph) => {
        const isOther = (there: StoredGraph) => !isSame(there, graph) || there.revision !== graph.revision;
        this.graphs = [...this.graphs.filter(isOther), storedCopy(graph)];
      },
      keep: async (saga, revision) => {
        for (const row of this.rowsOf(saga).filter((r) => r.saga.graphRevision === undefined)) {
          kept.set(row, undefined);
          Object.assign(row.saga, { graphRevision: revision });
        }
      },
    };
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

function toUnfinished(row: MemoryRow): UnfinishedSaga {
  return toStoredSaga(row);
}
