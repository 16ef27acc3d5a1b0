import { Saga, Step } from '../../libs/saga/src/index.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();

@Saga({ name: 'order' })
class OrderSaga {
  @Step() charge() {}
}
@Saga({ name: 'secret' })
class SecretSaga {
  @Step() charge() {}
}
const sagas = [OrderSaga, SecretSaga];

test('a step is paused, listed with who and why, and resumed', async () => {
  const { client } = await apps.start({ sagas });
  const listed = async (query = '') => (await client.get(`/api/paused-steps${query}`)).body as object;
  expect(await listed()).toEqual({ items: [] });
  const why = { by: 'ann', reason: 'payments are down' };
  expect(await client.post('/api/paused-steps/order/charge/pause', why)).toMatchObject({
    ...{ status: 200, body: { done: true } },
  });
  expect(await listed()).toEqual({
    items: [{ saga: 'order', step: 'charge', ...why, since: expect.any(String), actions: ['resumeStep'] }],
  });
  expect(await client.post('/api/paused-steps/order/charge/resume', { by: 'bob' })).toMatchObject({
    status: 200,
  });
  expect(await listed()).toEqual({ items: [] });
  expect(await listed('?resumed=true')).toMatchObject({
    items: [{ step: 'charge', resumed: { by: 'bob' }, actions: [] }],
  });
});

test('an unknown step, saga and key are refused', async () => {
  const { client } = await apps.start({ sagas });
  const pause = (path: string, body = {}) => client.post(`/api/paused-steps/${path}/pause`, body);
  expect(await pause('order/chrge')).toMatchObject({ status: 400 });
  expect(await pause('nobody/charge')).toMatchObject({ status: 404 });
  expect(await pause('order/charge', { who: 'ann' })).toMatchObject({ status: 400 });
  expect(await pause('order/charge', { by: 1 })).toMatchObject({ status: 400 });
});

test('who may pause single sagas may not pause a step of all, and sees no pauses of sagas that are hidden', async () => {
  const app = await apps.start({
    sagas,
    admin: {
      authorize: ({ kind, saga }: { kind: string; saga?: string }) =>
        saga !== 'secret' && ['look', 'pause', 'resume'].includes(kind),
    },
  });
  expect(await app.client.post('/api/paused-steps/order/charge/pause', {})).toMatchObject({ status: 403 });
  await app.operations.pauseStep(SecretSaga, 'charge');
  await app.operations.pauseStep(OrderSaga, 'charge');
  expect((await app.client.get('/api/paused-steps')).body).toMatchObject({
    items: [{ saga: 'order', actions: [] }],
  });
});
