import type { StoreTarget } from '../../engine/ports/saga-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { isUuid } from '../../engine/payload/storable-key.js';
import { CheckpointCalls } from './checkpoint/checkpoint-call.js';
import { PreparedCalls } from './checkpoint/prepared-calls.js';
import { SagaCheckpoints } from './checkpoint/save-checkpoints.js';
import { SagaClaims } from './claim/claim-sagas.js';
import type { EngineSql } from './connection/engine-sql.js';
import { wakeupChannel } from './connection/schema-name.js';
import type { Sql } from './connection/sql.js';
import { type Query, SagaReader } from './read/saga-reader.js';
import { toStoredSaga } from './read/stored-saga-row.js';
import { type Statements, statementsOf } from './sql-texts.js';
import { SagaStarts } from './start/start-sagas.js';
import { type Writes, writesOf } from './statements.js';

/** A search may take this many times as long as other statements. */
const FIND_PATIENCE = 6;

/** The statements of a schema, and what sends them: the parts that the tables of sagas and of steps share. */
export class SchemaStatements {
  readonly texts: Statements;
  readonly writes: Writes;
  readonly channel: string;
  /** Each statement is a transaction of its own. */
  readonly query: Query;
  readonly calls: PreparedCalls;
  readonly reader: SagaReader;
  readonly starts: SagaStarts;
  readonly claims: SagaClaims;
  readonly checkpoints: SagaCheckpoints;

  constructor(
    readonly sql: EngineSql,
    readonly schema: string,
    readonly pageBytes: number,
  ) {
    this.texts = statementsOf(schema);
    this.writes = writesOf(`"${schema}"`);
    this.channel = wakeupChannel(schema);
    this.query = this.queryOn(sql);
    this.calls = new PreparedCalls(sql, schema, this.writes);
    this.reader = this.readerOn(sql);
    this.starts = new SagaStarts(this.calls, this.texts, pageBytes);
    this.claims = new SagaClaims(this.query, this.texts, this.reader);
    const checkpointCalls = new CheckpointCalls(`"${schema}"`, this.writes);
    this.checkpoints = new SagaCheckpoints(sql, this.calls, this.texts, checkpointCalls);
  }

  queryOn(sql: Sql): Query {
    return <Row>(text: string, parameters: unknown[]) => sql.query<Row[]>(text, parameters);
  }

  readerOn(sql: Sql): SagaReader {
    return new SagaReader(this.queryOn(sql), this.texts, this.pageBytes);
  }

  async notify(sql: Sql, payload: string): Promise<void> {
    await sql.query('SELECT pg_notify($1, $2)', [this.channel, payload]);
  }

  /** Runs a search on a connection of its own. */
  async searching<T>(search: (sql: Sql) => Promise<T>): Promise<T> {
    const connection = await this.sql.connect();
    try {
      // Who asks for tags may have many sagas looked at.
      connection.timeoutFactor = FIND_PATIENCE;
      return await search(connection);
    } finally {
      connection.release();
    }
  }

  /** Returns a whole saga. Undefined: there is none. */
  async load(sql: Sql, target: StoreTarget): Promise<StoredSaga | undefined> {
    let id: string | undefined;
    if ('id' in target) {
      id = target.id;
    } else {
      const { name, correlationId } = target;
      const asId = isUuid(correlationId) ? correlationId : null;
      const statement = this.texts.idByCorrelation({ name, correlationId, id: asId });
      const [row] = await sql.query<{ id: string }[]>(...statement);
      id = row?.id;
    }
    if (id === undefined || !isUuid(id)) return undefined;
    const row = await this.readerOn(sql).byId(id);
    return row && toStoredSaga(row);
  }
}
