import type { DataSource, EntityManager } from 'typeorm';
import { sagaLabel } from '../../definition/graph/saga-graph.js';
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
import { disableTimeouts } from './setup/disable-timeouts.js';
import { SagaGraphRevision } from './schema/saga-entities.js';
import {
  atRestPageSql,
  duePageSql,
  eachUnfinishedSql,
  endTurnSql,
  keepRevisionSql,
  takeTurnSql,
} from './read/unfinished.sql.js';
import { type StoredSagaRow, toStoredSaga } from './read/stored-saga-row.js';
import { committed } from './connection/transaction-watch.js';

/** "grap" in ASCII; the second key of the lock is the schema's. */
const GRAPH_LOCK = 0x67726170;
const IN_ORDER = { name: 'ASC', version: 'ASC', revision: 'ASC' } as const;
const BATCH = 500;
const FIRST_PLACE = '-infinity';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface TurnRow {
  readonly taken: boolean;
  readonly progress: string | null;
  /** Null: the graph is not stored. */
  readonly due_in: number | null;
}

/** Graphs in PostgreSQL, over a DataSource made by createSagaDataSource. */
export class PostgresGraphStore implements GraphStore {
  private readonly sql: Record<'each' | 'due' | 'atRest' | 'keep' | 'takeTurn' | 'endTurn', string>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {
    const quoted = `"${schema}"`;
    this.sql = {
      each: eachUnfinishedSql(quoted),
      due: duePageSql(quoted),
      atRest: atRestPageSql(quoted),
      keep: keepRevisionSql(quoted),
      takeTurn: takeTurnSql(quoted),
      endTurn: endTurnSql(quoted),
    };
  }

  stored(sagas: readonly SagaVersions[]): Promise<StoredGraph[]> {
    return storedOn(this.dataSource.manager, sagas);
  }

  /** The newest revision of every version of every saga that was ever deployed, in the order of their names. */
  async newest(): Promise<StoredGraph[]> {
    const rows = await this.dataSource.getRepository(SagaGraphRevision).find({ order: IN_ORDER });
    // The last one of each stays.
    return [...new Map(rows.map((row) => [sagaLabel(row), toStoredGraph(row)])).values()];
  }

  reading<T>(work: (graphs: GraphReader) => Promise<T>): Promise<T> {
    return this.dataSource.transaction(async (manager) => {
      await manager.query('SET TRANSACTION READ ONLY');
      return work(this.readerOn(manager));
    });
  }

  exclusively<T>(work: (graphs: GraphWriter) => Promise<T>): Promise<T> {
    return committed(this.dataSource.manager, 'The graph of a saga', async (manager) => {
      await disableTimeouts(manager);
      await manager.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [GRAPH_LOCK, this.schema]);
      return work({
        ...this.readerOn(manager),
        put: async ({ name, version, revision, graph }) => {
          const row = { name, version, revision, graph };
          await manager.getRepository(SagaGraphRevision).upsert(row, ['name', 'version', 'revision']);
        },
        keep: async ({ name, version }, revision) => {
          await manager.query(this.sql.keep, [name, version, revision]);
        },
      });
    });
  }

  async unfinished(saga: SagaVersion, limit: number, after?: string): Promise<UnfinishedPage> {
    const [phase, place, id] = (after ?? `due ${FIRST_PLACE} ${FIRST_ID}`).split(/ (.*) /);
    if (phase === 'rest') return this.atRest(saga, limit, id!);
    const rows = await this.page(this.sql.due, [saga.name, saga.version, place, id, limit]);
    const last = rows.at(-1);
    const next = rows.length < limit ? `rest - ${FIRST_ID}` : `due ${last!.place} ${last!.id}`;
    return { sagas: rows.map(toUnfinished), next };
  }

  async takeTurn(
    { name, version }: SagaVersion,
    lease: number,
    atOnce: boolean,
  ): Promise<UpgradeTurn | { readonly dueIn: number }> {
    const [row] = await this.dataSource.query<[TurnRow]>(this.sql.takeTurn, [name, version, lease, atOnce]);
    if (!row.taken) return { dueIn: row.due_in ?? lease };
    return row.progress === null ? {} : { progress: row.progress };
  }

  async endTurn({ name, version }: SagaVersion, progress: string, dueIn: number): Promise<void> {
    await this.dataSource.query(this.sql.endTurn, [name, version, progress, dueIn]);
  }

  private async atRest(saga: SagaVersion, limit: number, after: string): Promise<UnfinishedPage> {
    const rows = await this.page(this.sql.atRest, [saga.name, saga.version, after, limit]);
    return {
      sagas: rows.map(toUnfinished),
      next: rows.length < limit ? undefined : `rest - ${rows.at(-1)!.id}`,
    };
  }

  private page(sql: string, parameters: unknown[]): Promise<(StoredSagaRow & { place: string })[]> {
    return this.dataSource.query(sql, parameters);
  }

  private readerOn(manager: EntityManager): GraphReader {
    return {
      stored: (sagas) => storedOn(manager, sagas),
      // A cursor sees one moment, however long it takes, and holds a batch at a time.
      eachUnfinished: async ({ name, version }, visit) => {
        // Where many wait, the planner would rather read all that has ended as well.
        await manager.query('SET LOCAL enable_seqscan = off');
        await manager.query(`DECLARE unfinished NO SCROLL CURSOR FOR ${this.sql.each}`, [name, version]);
        for (;;) {
          const rows: StoredSagaRow[] = await manager.query(`FETCH ${BATCH} FROM unfinished`);
          if (rows.length > 0) visit(rows.map(toUnfinished));
          if (rows.length < BATCH) break;
        }
        await manager.query('CLOSE unfinished');
      },
    };
  }
}

async function storedOn(manager: EntityManager, sagas: readonly SagaVersions[]): Promise<StoredGraph[]> {
  if (sagas.length === 0) return [];
  const rows = await manager.getRepository(SagaGraphRevision).find({
    where: sagas.map(({ name, version }) => (version === undefined ? { name } : { name, version })),
    order: IN_ORDER,
  });
  return rows.map(toStoredGraph);
}

function toStoredGraph({ name, version, revision, graph }: SagaGraphRevision): StoredGraph {
  return { name, version, revision, graph };
}

function toUnfinished(row: StoredSagaRow): UnfinishedSaga {
  const { id, name, version, graphRevision, state, lockedBy, cancelRequested } = toStoredSaga(row);
  return { id, name, version, graphRevision, state, lockedBy, cancelRequested };
}
