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
import {
  acceptChangeSql,
  atRestPageSql,
  duePageSql,
  eachUnfinishedSql,
  graphsOfSql,
  endTurnSql,
  isChangeAcceptedSql,
  keepRevisionSql,
  putGraphSql,
  storedGraphsSql,
  takeTurnSql,
} from './read/unfinished.sql.js';
import { type StoredSagaRow, toStoredSaga } from './read/stored-saga-row.js';
import type { EngineSql } from './connection/engine-sql.js';
import type { Sql } from './connection/sql.js';

/** "grap" in ASCII; the second key of the lock is the schema's. */
const GRAPH_LOCK = 0x67726170;
const BATCH = 500;
const FIRST_PLACE = '-infinity';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface TurnRow {
  readonly taken: boolean;
  readonly progress: string | null;
  /** Null: the graph is not stored. */
  readonly due_in: number | null;
}

/** Graphs in PostgreSQL. */
export class PostgresGraphStore implements GraphStore {
  private readonly statements: Record<
    | 'each'
    | 'due'
    | 'atRest'
    | 'keep'
    | 'accept'
    | 'isAccepted'
    | 'takeTurn'
    | 'endTurn'
    | 'put'
    | 'stored'
    | 'graphsOf',
    string
  >;

  constructor(
    private readonly sql: EngineSql,
    private readonly schema: string,
  ) {
    const quoted = `"${schema}"`;
    this.statements = {
      each: eachUnfinishedSql(quoted),
      due: duePageSql(quoted),
      atRest: atRestPageSql(quoted),
      keep: keepRevisionSql(quoted),
      accept: acceptChangeSql(quoted),
      isAccepted: isChangeAcceptedSql(quoted),
      takeTurn: takeTurnSql(quoted),
      endTurn: endTurnSql(quoted),
      put: putGraphSql(quoted),
      stored: storedGraphsSql(quoted),
      graphsOf: graphsOfSql(quoted),
    };
  }

  stored(sagas: readonly SagaVersions[]): Promise<StoredGraph[]> {
    return this.storedOn(this.sql, sagas);
  }

  async newest(): Promise<StoredGraph[]> {
    const rows = await this.sql.query<StoredGraph[]>(this.statements.stored);
    // The last one of each stays.
    return [...new Map(rows.map((row) => [sagaLabel(row), row])).values()];
  }

  reading<T>(work: (graphs: GraphReader) => Promise<T>): Promise<T> {
    return this.sql.transaction(async (sql) => {
      await sql.query('SET TRANSACTION READ ONLY');
      return work(this.readerOn(sql));
    });
  }

  exclusively<T>(work: (graphs: GraphWriter) => Promise<T>): Promise<T> {
    return this.sql.commit('The graph of a saga', async (sql) => {
      await disableTimeouts(sql);
      await sql.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [GRAPH_LOCK, this.schema]);
      return work({
        ...this.readerOn(sql),
        put: async ({ name, version, revision, graph }) => {
          await sql.query(this.statements.put, [name, version, revision, JSON.stringify(graph)]);
        },
        keep: async ({ name, version }, revision) => {
          await sql.query(this.statements.keep, [name, version, revision]);
        },
        accept: (saga) => this.isTrue(sql, this.statements.accept, saga),
        isAccepted: (saga) => this.isTrue(sql, this.statements.isAccepted, saga),
      });
    });
  }

  async unfinished(saga: SagaVersion, limit: number, after?: string): Promise<UnfinishedPage> {
    const [phase, place, id] = (after ?? `due ${FIRST_PLACE} ${FIRST_ID}`).split(/ (.*) /);
    if (phase === 'rest') return this.atRest(saga, limit, id!);
    const rows = await this.page(this.statements.due, [saga.name, saga.version, place, id, limit]);
    const last = rows.at(-1);
    const next = rows.length < limit ? `rest - ${FIRST_ID}` : `due ${last!.place} ${last!.id}`;
    return { sagas: rows.map(toUnfinished), next };
  }

  async takeTurn(
    { name, version }: SagaVersion,
    lease: number,
    atOnce: boolean,
  ): Promise<UpgradeTurn | { readonly dueIn: number }> {
    const [row] = await this.sql.query<[TurnRow]>(this.statements.takeTurn, [name, version, lease, atOnce]);
    if (!row.taken) return { dueIn: row.due_in ?? lease };
    return row.progress === null ? {} : { progress: row.progress };
  }

  async endTurn({ name, version }: SagaVersion, progress: string, dueIn: number): Promise<void> {
    await this.sql.query(this.statements.endTurn, [name, version, progress, dueIn]);
  }

  private async atRest(saga: SagaVersion, limit: number, after: string): Promise<UnfinishedPage> {
    const rows = await this.page(this.statements.atRest, [saga.name, saga.version, after, limit]);
    return {
      sagas: rows.map(toUnfinished),
      next: rows.length < limit ? undefined : `rest - ${rows.at(-1)!.id}`,
    };
  }

  private async isTrue(sql: Sql, text: string, { name, version }: SagaVersion): Promise<boolean> {
    const [{ is }] = await sql.query<[{ is: boolean }]>(text, [name, version]);
    return is;
  }

  private page(text: string, parameters: unknown[]): Promise<(StoredSagaRow & { place: string })[]> {
    return this.sql.query(text, parameters);
  }

  private readerOn(sql: Sql): GraphReader {
    return {
      stored: (sagas) => this.storedOn(sql, sagas),
      // A cursor sees one moment, however long it takes, and holds a batch at a time.
      eachUnfinished: async ({ name, version }, visit) => {
        // Where many wait, the planner would rather read all that has ended as well.
        await sql.query('SET LOCAL enable_seqscan = off');
        await sql.query(`DECLARE unfinished NO SCROLL CURSOR FOR ${this.statements.each}`, [name, version]);
        for (;;) {
          const rows: StoredSagaRow[] = await sql.query(`FETCH ${BATCH} FROM unfinished`);
          if (rows.length > 0) visit(rows.map(toUnfinished));
          if (rows.length < BATCH) break;
        }
        await sql.query('CLOSE unfinished');
      },
    };
  }

  private async storedOn(sql: Sql, sagas: readonly SagaVersions[]): Promise<StoredGraph[]> {
    if (sagas.length === 0) return [];
    const [names, versions] = [sagas.map(({ name }) => name), sagas.map(({ version }) => version ?? null)];
    return sql.query(this.statements.graphsOf, [names, versions]);
  }
}

function toUnfinished(row: StoredSagaRow): UnfinishedSaga {
  const { id, name, version, graphRevision, state, checkpoints, takeovers, lockedBy, cancelRequested } =
    toStoredSaga(row);
  return { id, name, version, graphRevision, state, checkpoints, takeovers, lockedBy, cancelRequested };
}
