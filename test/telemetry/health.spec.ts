import { Controller, Get, Module } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Saga, Step } from '../../libs/saga/src/index.js';
import { SagaHealthIndicator, SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { TestApps } from '../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order', retry: { attempts: 1 }, onFailure: 'suspend' })
class OrderSaga {
  @Step() charge() {
    throw new Error('503');
  }
}

/** As users write it. */
@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly sagas: SagaHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.sagas.isHealthy('sagas', { maxOldestDue: '1m', maxStuck: 0 })]);
  }
}

@Module({ imports: [TerminusModule.forRoot({ logger: false })], controllers: [HealthController] })
class HealthModule {}

const imports = [SagaTelemetryModule.forRoot({ gauges: false, logs: false }), HealthModule];

async function start(worker?: false) {
  const app = await apps.start({ sagas: [OrderSaga], imports, options: { worker } });
  const controller = app.nest.get(HealthController, { strict: false });
  const check = () => controller.check().catch((error: { getResponse(): unknown }) => error.getResponse());
  return { ...app, check, indicator: app.nest.get(SagaHealthIndicator, { strict: false }) };
}

describe('the health check', () => {
  test('is up while sagas go on, with the figures', async () => {
    const { check } = await start();
    const sagas = { status: 'up', due: 0, oldestDue: 0, stuck: 0 };
    expect(await check()).toMatchObject({ status: 'ok', details: { sagas } });
  });

  test('is down when a saga that is due has waited longer for a worker than it may', async () => {
    const { check, sagas } = await start(false);
    await sagas.start(OrderSaga, undefined);
    expect(await check()).toMatchObject({ status: 'ok', details: { sagas: { status: 'up', due: 1 } } });
    await apps.sql(`UPDATE saga.instance SET due_at = now() - interval '90 s'`);
    const message = expect.stringMatching(/^the oldest due saga has waited for a worker for \d+ s$/);
    expect(await check()).toMatchObject({
      status: 'error',
      error: { sagas: { status: 'down', message, due: 1 } },
    });
  });

  test('is down when more sagas need an operator than the limit', async () => {
    const { check, sagas, indicator } = await start();
    await (await sagas.start(OrderSaga, undefined)).outcome();
    const error = { sagas: { status: 'down', message: '1 saga(s) need attention', stuck: 1 } };
    expect(await check()).toMatchObject({ status: 'error', error });
    expect(await indicator.isHealthy('sagas', { maxStuck: 1 })).toMatchObject({ sagas: { status: 'up' } });
    expect(await indicator.isHealthy('sagas')).toMatchObject({ sagas: { status: 'up', stuck: 1 } });
  });

  test('is down when the database does not answer in time, and answers itself', async () => {
    const { indicator, dataSource } = await start(false);
    const locked = dataSource.createQueryRunner();
    await locked.startTransaction();
    await locked.query('LOCK TABLE saga.instance IN ACCESS EXCLUSIVE MODE');
    const message = 'the database did not answer within 50 ms';
    expect(await indicator.isHealthy('sagas', { timeout: 50 })).toEqual({
      sagas: { status: 'down', message },
    });
    await locked.rollbackTransaction();
    await locked.release();
  });

  test('refuses options that make no sense', async () => {
    const { indicator } = await start(false);
    await expect(indicator.isHealthy('sagas', { maxStuck: -1 })).rejects.toThrow(
      'maxStuck is -1; give a whole number from 0',
    );
    await expect(indicator.isHealthy('sagas', { maxOldestDue: 'soon' as never })).rejects.toThrow(
      'maxOldestDue',
    );
  });
});
