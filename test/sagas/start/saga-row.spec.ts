import { Saga, Step } from '../../../libs/saga/src/index.js';
import { SagaInstance, SagaStep, sagaEntities } from '../../../libs/saga/src/database.js';
import { SAGA_ROW } from '../../../libs/saga/src/store/postgres/schema/saga-row.js';
import {
  errorsOfJson,
  type ErrorsJson,
} from '../../../libs/saga/src/store/postgres/checkpoint/errors-json.js';
import { STEP_COLUMNS } from '../../../libs/saga/src/store/postgres/schema/step-row.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({
  name: 'order',
  lockKey: ({ input }: { input: { key: string } }) => input.key,
  sla: '1h',
  timeout: '1d',
})
class OrderSaga {
  @Step() pack() {
    return { parcels: 2 };
  }
  @Step({ after: ['pack'], retry: { attempts: 1 } }) ship() {
    throw new Error('no driver');
  }
}

type Row = Record<string, unknown>;

test('the entities SagaInstance and SagaStep have each column of a saga and of its steps', async () => {
  const { sagas, dataSource } = await apps.start({
    sagas: [OrderSaga],
    dataSource: { entities: sagaEntities() },
  });
  const options = { correlationId: 'o-1', priority: 7, tags: { region: 'eu' } };
  const { id, outcome } = await sagas.start(OrderSaga, { key: 'k' }, options);
  await outcome();

  const saga = await dataSource.getRepository(SagaInstance).findOneByOrFail({ id });
  const [row] = await apps.sql<Row>('SELECT * FROM saga.instance WHERE id = $1', [id]);
  expect(Object.keys(row!).sort()).toEqual(SAGA_ROW.map(({ name }) => name).sort());
  for (const { field, name } of SAGA_ROW) expect([field, saga[field]]).toEqual([field, row![name]]);
  expect(saga).toMatchObject({ ...options, status: 'compensated', input: { key: 'k' }, lockKey: 'k' });

  const steps = await dataSource.getRepository(SagaStep).findBy({ sagaId: id });
  const rows = await apps.sql<Row>('SELECT * FROM saga.step WHERE saga_id = $1', [id]);
  expect(steps).toHaveLength(2);
  for (const step of steps) {
    const stored = rows.find(({ name }) => name === step.name)!;
    expect(Object.keys(step)).toHaveLength(Object.keys(stored).length);
    for (const { field, name, kind } of STEP_COLUMNS) {
      const value = stored[name.replaceAll('"', '')];
      const errors = kind === 'errors' && value !== null;
      expect([field, step[field]]).toEqual([field, errors ? errorsOfJson(value as ErrorsJson) : value]);
    }
  }
});
