import { ConsoleLogger, Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Saga, SagaConfigurationError, Step } from '../../libs/saga/src/index.js';
import { SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order', retry: { attempts: 2, delay: 1 }, compensationRetry: { attempts: 1 } })
class OrderSaga {
  @Step({ compensate: 'release' }) reserve() {}
  release() {
    throw new Error('inventory: 503');
  }
  @Step() charge() {
    throw new Error('declined');
  }
}

describe('without an SDK of OpenTelemetry', () => {
  test('sagas go on as ever, and nothing is stored for a trace', async () => {
    const { sagas } = await apps.start({ sagas: [OrderSaga], imports: [SagaTelemetryModule.forRoot()] });
    const { id, outcome } = await sagas.start(OrderSaga, undefined, { tags: { shop: 'a' } });
    expect(await outcome()).toMatchObject({ status: 'stuck' });
    expect((await sagas.get(id)).tags).toEqual({ shop: 'a' });
  });
});

describe('the log', () => {
  interface Line {
    readonly level: string;
    readonly message: string;
    readonly sagaId?: string;
    readonly step?: string;
  }
  const lines: Line[] = [];
  const take = (level: string) => (line: Line | string) =>
    void lines.push(typeof line === 'string' ? { level, message: line } : { ...line, level });
  beforeEach(() => void lines.splice(0));
  afterEach(() => void Logger.overrideLogger(new ConsoleLogger()));

  test('reports attempts, the rollback, and the need for an operator, with the ids as fields', async () => {
    const { nest, sagas } = await apps.start({
      sagas: [OrderSaga],
      imports: [SagaTelemetryModule.forRoot()],
    });
    nest.useLogger({ log: take('log'), warn: take('warn'), error: take('error'), debug: take('debug') });
    const { id, outcome } = await sagas.start(OrderSaga, undefined);
    await outcome();
    const whose = { sagaId: id, saga: 'order' };
    // Who waits for the saga may know of its end before the process that ran it has the answer to its checkpoint.
    await until(() => lines.some(({ level }) => level === 'error'));
    const said = lines.filter(({ sagaId }) => sagaId === id);
    expect(said).toEqual([
      {
        level: 'debug',
        ...whose,
        step: 'charge',
        message: expect.stringContaining("attempt 1 of step 'charge' failed, next attempt at"),
      },
      {
        level: 'log',
        ...whose,
        step: 'charge',
        message: expect.stringContaining("attempt 2 of step 'charge' failed, retries exhausted: declined"),
      },
      { level: 'log', ...whose, message: `Saga ${id} (order@1) compensates: error at charge, declined` },
      {
        level: 'log',
        ...whose,
        step: 'reserve',
        message: expect.stringContaining(
          "attempt 1 of compensation of step 'reserve' failed, retries exhausted: inventory: 503",
        ),
      },
      {
        level: 'error',
        ...whose,
        step: 'reserve',
        message: expect.stringContaining(
          `Saga ${id} (order@1) is stuck at 'reserve', while compensating: Error: inventory: 503.`,
        ),
      },
    ]);
  });

  test('reports only the need for an operator if the other entries are disabled', async () => {
    const imports = [SagaTelemetryModule.forRootAsync({ useFactory: () => ({ logs: false }) })];
    const { nest, sagas } = await apps.start({ sagas: [OrderSaga], imports });
    nest.useLogger({ log: take('log'), warn: take('warn'), error: take('error'), debug: take('debug') });
    await (await sagas.start(OrderSaga, undefined)).outcome();
    await until(() => lines.some(({ level }) => level === 'error'));
    expect(lines.filter(({ sagaId }) => sagaId !== undefined)).toMatchObject([{ level: 'error' }]);
  });
});

describe('the module is refused', () => {
  test('without SagaModule, saying what to import', async () => {
    const alone = Test.createTestingModule({ imports: [SagaTelemetryModule.forRoot()] });
    await expect(alone.compile()).rejects.toThrow(SagaConfigurationError);
    await expect(alone.compile()).rejects.toThrow('Import SagaModule.forRoot() in the root module as well.');
  });

  test('with options that there are not, or that make no sense, all at once', async () => {
    const imports = [SagaTelemetryModule.forRoot({ traces: 'yes', spans: true } as never)];
    await expect(apps.start({ imports })).rejects.toThrow(
      "SagaTelemetryModule: unknown option 'spans'. The options are: traces, metrics, gauges, logs. " +
        "traces is 'yes'; give true or false.",
    );
  });
});
