import { Saga, Step, WaitFor } from '../../libs/saga/src/index.js';
import type { ScheduleStatus } from '../../libs/saga/src/operators.js';
import { until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();

@Saga({ name: 'nightly', schedule: { cron: '0 2 1 1 *', timezone: 'Europe/Berlin' } })
class Nightly {
  @Step() report() {}
  @WaitFor({ signal: 'sent' }) sent() {}
}
@Saga({ name: 'secret', schedule: { cron: '0 3 1 1 *' } })
class Secret {
  @Step() report() {}
}

async function opened(admin: object = {}) {
  const app = await apps.start({ sagas: [Nightly, Secret], admin });
  await until(async () => (await app.schedules.list()).length === 2);
  return app;
}

test('schedules are listed with their runs, paused, resumed and triggered', async () => {
  const { client } = await opened();
  const listed = async () => ((await client.get('/api/schedules')).body as ScheduleStatus[])[0]!;
  expect(await listed()).toEqual({
    ...{ saga: 'nightly', cron: '0 2 1 1 *', timezone: 'Europe/Berlin', overlap: 'skip', catchUp: 'last' },
    ...{ next: expect.stringMatching(/-01-01T01:00:00.000Z$/), actions: ['pause', 'trigger'] },
  });
  const triggered = await client.post('/api/schedules/nightly/trigger', {});
  expect(triggered).toMatchObject({ status: 200, body: { id: expect.any(String) } });
  expect((await listed()).last).toMatchObject({
    sagaId: triggered.body.id,
    triggered: true,
    status: 'running',
  });
  expect(await client.post('/api/schedules/nightly/trigger', {})).toMatchObject({
    ...{ status: 409, body: { code: 'SAGA_STATE' } },
  });
  const pause = { by: 'ann', reason: 'inventory' };
  expect(await client.post('/api/schedules/nightly/pause', pause)).toMatchObject({
    status: 200,
    body: { done: true },
  });
  expect(await listed()).toMatchObject({
    paused: { by: 'ann', reason: 'inventory' },
    actions: ['resume', 'trigger'],
  });
  expect((await listed()).next).toBeUndefined();
  await client.post('/api/schedules/nightly/resume', {});
  expect((await listed()).paused).toBeUndefined();
});

test('a schedule that is not there is not found, and an unknown key is refused', async () => {
  const { client } = await opened();
  expect(await client.post('/api/schedules/nobody/pause', {})).toMatchObject({ status: 404 });
  expect(await client.post('/api/schedules/nightly/pause', { who: 'ann' })).toMatchObject({ status: 400 });
  expect(await client.post('/api/schedules/nightly/pause', { by: 1 })).toMatchObject({ status: 400 });
});

test('who may not see a saga does not see its schedule, and who may only look cannot act', async () => {
  const { client } = await opened({
    authorize: ({ kind, saga }: { kind: string; saga?: string }) => saga !== 'secret' && kind === 'look',
  });
  const { body } = await client.get('/api/schedules');
  expect(body).toMatchObject([{ saga: 'nightly', actions: [] }]);
  expect(await client.post('/api/schedules/nightly/trigger', {})).toMatchObject({ status: 403 });
  const [hidden, missing] = [
    await client.post('/api/schedules/secret/trigger', {}),
    await client.post('/api/schedules/nobody/trigger', {}),
  ];
  expect([hidden.status, hidden.body]).toEqual([missing.status, missing.body]);
});
