import type pg from 'pg';
// The package exports no way to look through a database. What it has is compiled before the rig is.
import { graphOfDescription } from '../../../../libs/saga/dist/modules/definition/describe/graph-of-description.js';
import { sagaLabel } from '../../../../libs/saga/dist/modules/definition/graph/saga-graph.js';
import { findUnexplained } from '../../../../libs/saga/dist/modules/nest/maintenance/find-unexplained.js';
import { EngineSql } from '../../../../libs/saga/dist/modules/store/postgres/connection/engine-sql.js';
import { PgDatabase } from '../../../../libs/saga/dist/modules/store/postgres/connection/pg-database.js';
import { PostgresGraphStore } from '../../../../libs/saga/dist/modules/store/postgres/postgres-graph-store.js';
import { PostgresSagaStore } from '../../../../libs/saga/dist/modules/store/postgres/postgres-saga-store.js';

const SCHEMA = 'saga';

/** Returns the sagas of a database that are neither ended nor due and that nothing will move, each with the reason. */
export async function unexplained(sagas: pg.Pool): Promise<string[]> {
  const sql = new EngineSql(new PgDatabase(sagas));
  const stored = await new PostgresGraphStore(sql, SCHEMA).newest();
  const graphs = new Map(
    stored.flatMap((one) => (one.graph.about ? [[sagaLabel(one), graphOfDescription(one.graph.about)]] : [])),
  );
  const store = new PostgresSagaStore(sql, SCHEMA);
  const found = await findUnexplained({ store, graphOf: (saga) => graphs.get(sagaLabel(saga)) });
  return found.map(({ id, saga, problem }) => `${saga} ${id} ${problem}`);
}
