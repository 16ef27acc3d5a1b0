import {
  type GraphReader,
  type GraphStore,
  type GraphWriter,
  type MemoryGraphs,
  MemoryGraphStore,
  type MemoryRow,
  type SagaVersion,
  type SagaVersions,
  type StoredGraph,
  type UnfinishedPage,
  type UpgradeTurn,
} from 'nestjs-durable-saga/internal/backend';
import { ALL, GRAPHS, type Register, SAGA } from './contracts.js';
import type { RestateCalls } from './restate-calls.js';

/**
 * Stores all graphs in one object, by the rules of the store in memory. A change is made on a copy, and repeated if the object
 * has changed meanwhile.
 */
export class RestateGraphStore implements GraphStore {
  constructor(private readonly calls: RestateCalls) {}

  async stored(sagas: readonly SagaVersions[]): Promise<StoredGraph[]> {
    return this.copyOf(await this.read(), []).stored(sagas);
  }

  async newest(): Promise<StoredGraph[]> {
    return this.copyOf(await this.read(), []).newest();
  }

  async reading<T>(work: (graphs: GraphReader) => Promise<T>): Promise<T> {
    return this.copyOf(await this.read(), await this.calls.scan()).reading(work);
  }

  async exclusively<T>(work: (graphs: GraphWriter) => Promise<T>): Promise<T> {
    return this.changing(await this.calls.scan(), async (graphs, rows) => {
      const before = new Map(rows.map((row) => [row, row.saga.graphRevision]));
      const result = await graphs.exclusively(work);
      // Before the next graph is there: until then, an instance that keeps the newest one goes by it anyway.
      for (const { saga } of rows.filter((row) => row.saga.graphRevision !== before.get(row)))
        await this.calls.options.ingress
          .client(SAGA, saga.id)
          .keepGraph(saga.graphRevision!, this.calls.opts);
      return result;
    });
  }

  async unfinished(saga: SagaVersion, limit: number, after?: string): Promise<UnfinishedPage> {
    return this.copyOf(undefined, await this.calls.scan()).unfinished(saga, limit, after);
  }

  takeTurn(
    to: SagaVersion,
    lease: number,
    atOnce: boolean,
  ): Promise<UpgradeTurn | { readonly dueIn: number }> {
    return this.changing([], (graphs) => graphs.takeTurn(to, lease, atOnce));
  }

  endTurn(to: SagaVersion, progress: string, dueIn: number): Promise<void> {
    return this.changing([], (graphs) => graphs.endTurn(to, progress, dueIn));
  }

  private async changing<T>(
    rows: readonly MemoryRow[],
    change: (graphs: MemoryGraphStore, rows: readonly MemoryRow[]) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const before = await this.read();
      const graphs = this.copyOf(before, rows);
      const result = await change(graphs, rows);
      const write = { revision: before?.revision ?? 0, value: graphs.all };
      if (await this.calls.options.ingress.client(GRAPHS, ALL).write(write, this.calls.opts)) return result;
    }
  }

  private read(): Promise<Register<MemoryGraphs> | undefined> {
    const { options, opts } = this.calls;
    return options.ingress.client(GRAPHS, ALL).read(opts);
  }

  private copyOf(kept: Register<MemoryGraphs> | undefined, rows: readonly MemoryRow[]): MemoryGraphStore {
    const byId = new Map(rows.map((row) => [row.saga.id, row]));
    return new MemoryGraphStore(byId, this.calls.options.now, kept?.value);
  }
}
