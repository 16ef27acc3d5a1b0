import { DataSource, In } from 'typeorm';
import {
  checkpointOf,
  held,
  loaded,
  newSaga,
  stateOf,
  stepOf,
  uniqueName,
  WORKER,
} from '../../../../../../test/contract/store-subject.contract.js';
import { createTestDatabase, type TestDatabase } from '../../../../../../test/support/test-database.js';
import { EngineSql } from '../connection/engine-sql.js';
import { PostgresSagaStore } from '../postgres-saga-store.js';
import type { SagaTables } from '../saga-tables.js';
import { sagaEntities } from '../schema/saga-entities.js';
import { migrate } from '../setup/migrate.js';
import type { SagaInstanceRepository } from './saga-instance-repository.js';
import type { SagaStepRepository } from './saga-step-repository.js';
import { TypeOrmDatabase } from './typeorm-database.js';

let database: TestDatabase;
let application: DataSource;
let store: PostgresSagaStore;
let sagas: SagaInstanceRepository;
let steps: SagaStepRepository;
/** The names of the repositories' methods that the store has called. */
const called: string[] = [];

/** The layer, of which the repositories note their calls. */
class NotedDatabase extends TypeOrmDatabase {
  override repositories(tables: SagaTables): SagaTables {
    const { instances, steps: records } = super.repositories(tables);
    sagas = instances as SagaInstanceRepository;
    steps = records as SagaStepRepository;
    return { instances: noted('sagas', instances), steps: noted('steps', records) };
  }
}

const noted = <Table extends object>(table: string, repository: Table): Table =>
  new Proxy(repository, {
    get:
      (target, name) =>
      (...call: unknown[]) => {
        called.push(`${table}.${String(name)}`);
        const method = Reflect.get(target, name) as (...call: unknown[]) => unknown;
        const answer = method.apply(target, call);
        return name === 'within' ? noted(`${table} in a transaction`, answer as object) : answer;
      },
  });

beforeAll(async () => {
  database = await createTestDatabase();
  const options = { type: 'postgres', url: database.url, entities: sagaEntities() } as const;
  application = await new DataSource(options).initialize();
  const sql = new EngineSql(new NotedDatabase(application));
  await migrate(sql, 'saga');
  store = new PostgresSagaStore(sql, 'saga');
});

afterAll(async () => {
  await application.destroy();
  await database.drop();
});

test('on TypeORM a saga is stored, claimed, checkpointed, edited and found by two repositories', async () => {
  called.length = 0;
  const saga = await held(store);
  const state = stateOf('running', { pack: stepOf() });
  await store.checkpoint([checkpointOf(saga, state)]);
  await store.transact(async () => checkpointOf(saga, state));
  await store.edit({ id: saga.id }, () => ({ requestPause: true }));
  await store.find({ name: saga.name, limit: 1 });
  const claim = { lease: WORKER, sagas: [{ name: saga.name, version: 1 }], limit: 1 };
  await store.claim(claim);
  await store.renew([saga], WORKER);
  await store.giveBack([saga], WORKER, 0);
  expect([...new Set(called)].sort()).toEqual(
    [
      ...['sagas.start', 'sagas.claim', 'sagas.renew', 'sagas.giveBack', 'sagas.edit', 'sagas.search'],
      ...['sagas.load', 'steps.checkpoint', 'steps.transact'],
    ].sort(),
  );
});

test('a start in a transaction of the application is one of the repository in that transaction', async () => {
  const [kept, refused] = [newSaga(), newSaga()];
  called.length = 0;
  await application.transaction((manager) => store.startWithin(manager, kept, WORKER));
  expect(called).toEqual(['sagas.within', 'sagas in a transaction.start']);
  await application
    .transaction(async (manager) => {
      await store.startWithin(manager, refused, WORKER);
      throw new Error('the order is refused');
    })
    .catch(() => undefined);
  expect(await sagas.findBy({ id: In([kept.id, refused.id]) })).toMatchObject([{ id: kept.id }]);
});

test('the repositories are those of TypeORM: with its finders, and in its transactions', async () => {
  const name = uniqueName();
  const [kept, refused] = [newSaga({ name }), newSaga({ name })];
  await application.transaction((manager) => manager.withRepository(sagas).start([kept], WORKER));
  await application
    .transaction(async (manager) => {
      await manager.withRepository(sagas).start([refused], WORKER);
      expect(await manager.withRepository(sagas).countBy({ name })).toBe(2);
      throw new Error('the order is refused');
    })
    .catch(() => undefined);
  expect(await sagas.findBy({ name })).toMatchObject([{ id: kept.id, status: 'running' }]);
  const state = stateOf('running', { pack: stepOf() });
  await steps.checkpoint([checkpointOf(await loaded(store, kept.id), state)]);
  expect(await steps.findBy({ sagaId: kept.id })).toMatchObject([{ name: 'pack', status: 'completed' }]);
});
