import { DataSource } from 'typeorm';
import { buildSagaGraph } from '../../../libs/saga/src/definition/build/build-saga-graph.js';
import { recordOf } from '../../../libs/saga/src/definition/describe/graph-record.js';
import { SagaUpgrades } from '../../../libs/saga/src/engine/versions/saga-upgrades.js';
import { Saga, Step } from '../../../libs/saga/src/index.js';
import { migrate } from '../../../libs/saga/src/store/postgres/setup/migrate.js';
import { PostgresGraphStore } from '../../../libs/saga/src/store/postgres/postgres-graph-store.js';
import { sqlOf } from '../../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { Gate } from '../../support/gate.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

@Saga({ name: 'order' })
class OrderV1 {
  @Step() reserve() {}
  @Step() ship() {}
}

/** What has been reserved cannot move: there is a step before that, which is not done. */
@Saga({ name: 'order', version: 2, upgradeFrom: 1 })
class OrderV2 {
  @Step() check() {}
  @Step() reserve() {}
  @Step() ship() {}
}

/** Longer than any round takes: a real second may pass within one. */
const POLL = 60_000;
const INSTANCES = 2_500;
const PROCESSES = 3;

let database: TestDatabase;
let application: DataSource;
let graphs: PostgresGraphStore;
beforeAll(async () => {
  database = await createTestDatabase();
  application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  const sql = sqlOf(application);
  await migrate(sql, 'saga');
  graphs = new PostgresGraphStore(sql, 'saga');
  await graphs.exclusively(async (writer) => {
    for (const type of [OrderV1, OrderV2]) {
      const graph = buildSagaGraph(type);
      await writer.put({ name: graph.name, version: graph.version, revision: 1, graph: recordOf(graph) });
    }
  });
  await application.query(
    `INSERT INTO saga.instance (id, name, version, status, step, epoch, checkpoints, due_at, rank_at)
     SELECT gen_random_uuid(), 'order', 1, 'running', 'ship', 1, 1, now() + interval '1 day', now() + interval '1 day'
     FROM generate_series(1, $1)`,
    [INSTANCES],
  );
  await application.query(
    `INSERT INTO saga.step (saga_id, name, status, attempts) SELECT id, 'reserve', 'completed', 1 FROM saga.instance`,
  );
});
afterAll(async () => {
  await application.destroy();
  await database.drop();
});

test('instances that cannot move are read by all processes together once in a sweep, and seldom', async () => {
  let now = 0;
  let [rows, statements, asked] = [0, 0, 0];
  // One that asks for the first time waits for no pause. On a busy machine it would have a turn after another's first one ended.
  const all = new Gate();
  const counted = {
    stored: (...args: Parameters<PostgresGraphStore['stored']>) => graphs.stored(...args),
    takeTurn: async (...args: Parameters<PostgresGraphStore['takeTurn']>) => {
      const turn = await graphs.takeTurn(...args);
      asked += 1;
      if (asked === PROCESSES) all.open();
      return turn;
    },
    endTurn: (...args: Parameters<PostgresGraphStore['endTurn']>) => graphs.endTurn(...args),
    unfinished: async (...args: Parameters<PostgresGraphStore['unfinished']>) => {
      await all.opened;
      const page = await graphs.unfinished(...args);
      rows += page.sagas.length;
      statements += 1;
      return page;
    },
  };
  const engine = {
    edit: () => Promise.reject(new Error('None of them can move')),
    announceDue: () => undefined,
  };
  const silent = { log: () => undefined, warn: () => undefined, error: fail, debug: () => undefined };
  const processes = Array.from(
    { length: PROCESSES },
    () =>
      new SagaUpgrades([buildSagaGraph(OrderV2)], counted, engine as never, silent as never, POLL, {
        monotonic: () => now,
      }),
  );
  const rounds: number[] = [];
  for (let round = 0; round < 60; round += 1) {
    const before = rows;
    await Promise.all(processes.map((process) => process.tick()));
    rounds.push(rows - before);
    now += POLL;
    await application.query(
      `UPDATE saga.graph SET upgrade_at = upgrade_at - interval '${POLL} milliseconds'`,
    );
  }
  // A sweep takes 3 turns of at most 10 pages of 100, and then comes a pause of at least 4 times as many polls.
  expect(Math.max(...rounds)).toBeLessThanOrEqual(1_000);
  expect(rows).toBeGreaterThanOrEqual(INSTANCES);
  expect(rows).toBeLessThanOrEqual(4 * INSTANCES);
  expect(statements).toBeLessThanOrEqual(4 * (INSTANCES / 100 + 3));
});

function fail(message: string): never {
  throw new Error(message);
}
