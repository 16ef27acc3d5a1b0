import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import type { Logger as TypeOrmLogger } from 'typeorm';
import { Saga, Step, type StepContext, WaitFor } from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const SECRET = 'marker-4711';
const METHODS = ['log', 'error', 'warn', 'debug', 'verbose', 'fatal'] as const;

@Saga({ name: 'order', redact: ['card', 'token'], retry: { attempts: 1 } })
class OrderSaga {
  @Step() charge(ctx: StepContext<{ card?: string; token?: string }>): unknown {
    return { token: ctx.input.token };
  }
  @WaitFor({ signal: 'paid' }) paid(_: StepContext, payload: unknown) {
    return payload;
  }
}

/** All that any logger is given. */
let logged: string[][] = [];
/** TypeORM's, through which a statement is sent. */
const isRunner = (value: unknown) => typeof value === 'object' && value !== null && 'manager' in value;
const record = (...given: unknown[]) =>
  void logged.push(given.filter((value) => !isRunner(value)).map(written));
const typeOrmLogger: TypeOrmLogger = {
  logQuery: record,
  logQueryError: record,
  logQuerySlow: record,
  logSchemaBuild: record,
  logMigration: record,
  log: record,
};
/** As a logger that leaves nothing out would write it. */
const written = (value: unknown) =>
  inspect(value, { depth: 5, maxStringLength: null, breakLength: Infinity });

const before = METHODS.map((name) => Logger.prototype[name]);
beforeEach(() => {
  logged = [];
  for (const name of METHODS) Logger.prototype[name] = record;
});
afterEach(() => METHODS.forEach((name, n) => (Logger.prototype[name] = before[n]!)));

/** PostgreSQL refuses what holds the secret, and its error shows the whole row. */
const REFUSED = ['instance.input', 'step.result', 'signal.payload'].map(
  (column) => column.split('.') as [string, string],
);
const check = (name: string) => `no_secret_in_${name}`;

async function app() {
  const started = await apps.start({
    sagas: [OrderSaga],
    options: { worker: { lease: '1s', pollInterval: '50ms' } },
    dataSource: { logging: 'all', logger: typeOrmLogger, maxQueryExecutionTime: 1 },
  });
  for (const [table, column] of REFUSED)
    await apps.sql(
      `ALTER TABLE saga.${table} ADD CONSTRAINT ${check(table)} CHECK (${column}::text NOT LIKE '%${SECRET}%')`,
    );
  return started;
}
afterEach(async () => {
  for (const [table] of REFUSED)
    await apps.sql(`ALTER TABLE saga.${table} DROP CONSTRAINT IF EXISTS ${check(table)}`);
});

const failedStatements = () => logged.filter((given) => given.join(' ').includes('no_secret_in_'));

/** A call that fails with a statement's error, which contains the statement but none of its parameters. */
async function expectTold(call: Promise<unknown>, isInTransaction = false): Promise<void> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const ofServer = { code: '23514' };
  expect(error).toMatchObject(isInTransaction ? ofServer : { code: 'SAGA_VALIDATION', cause: ofServer });
  expect(written(error)).toContain('no_secret_in_');
  expect(written(error)).not.toContain(SECRET);
}

describe('what a saga is given and gives, where TypeORM logs everything and a statement fails, is in no log and no error', () => {
  test('of start()', async () => {
    const { sagas } = await app();
    await expectTold(sagas.start(OrderSaga, { card: SECRET }));
    expect(logged.flat().join('\n')).not.toContain(SECRET);
  });

  test('of start() within a transaction of the application’s', async () => {
    const { sagas, dataSource } = await app();
    await expectTold(
      dataSource.transaction((manager) => sagas.start(OrderSaga, { card: SECRET }, { manager })),
      true,
    );
    expect(failedStatements()).not.toEqual([]);
    expect(logged.flat().join('\n')).not.toContain(SECRET);
  });

  test('of signal()', async () => {
    const { sagas } = await app();
    const { id } = await sagas.start(OrderSaga, {});
    await expectTold(sagas.signal(id, 'paid', { token: SECRET }));
    expect(failedStatements()).not.toEqual([]);
    expect(logged.flat().join('\n')).not.toContain(SECRET);
  });

  test.each([false, true])('of a checkpoint (transactional: %s)', async (transactional) => {
    @Saga({ name: 'refund', redact: ['token'], retry: { attempts: 1 } })
    class RefundSaga {
      @Step({ transactional }) pay() {
        return { token: SECRET };
      }
    }
    const started = await apps.start({
      sagas: [RefundSaga],
      dataSource: { logging: 'all', logger: typeOrmLogger },
    });
    await apps.sql(
      `ALTER TABLE saga.step ADD CONSTRAINT ${check('step')} CHECK (result::text NOT LIKE '%${SECRET}%')`,
    );
    const saga = await started.sagas.start(RefundSaga, {});
    await until(() => failedStatements().length > 0);
    const { steps } = await started.sagas.get(saga.id);
    expect(logged.flat().concat(written(steps)).join('\n')).not.toContain(SECRET);
  });
});
