import { Saga, Step, type StepContext, WaitFor } from '../../libs/saga/src/index.js';
import type { AdminAction } from '../../libs/admin/src/index.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();

const ORDER = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof (value as { amount?: unknown }).amount === 'number'
        ? { value: value as { amount: number } }
        : { issues: [{ path: ['amount'], message: 'must be number' }] },
  },
} as const;

@Saga({ name: 'pay', input: ORDER })
class Pay {
  @Step() charge(ctx: StepContext<{ amount: number }>) {
    return { charged: ctx.input.amount };
  }
}

@Saga({ name: 'waiting' })
class Waiting {
  @WaitFor({ signal: 'go' }) go(_: StepContext, payload: { word: string }) {
    return payload;
  }
}

const start = { saga: 'pay', input: { amount: 3 } };

describe('POST api/sagas', () => {
  test('starts a saga by its name, with all options, and returns its id', async () => {
    const { client, sagas } = await apps.start({ sagas: [Pay] });
    const options = { correlationId: 'order 1', priority: 7, tags: { shop: 'a' } };
    const { status, body } = await client.post('/api/sagas', { ...start, ...options, delay: '10ms' });
    expect([status, body]).toEqual([200, { id: expect.any(String), created: true }]);
    const { results } = await sagas.wait(body.id, { timeout: '10s' });
    expect(results).toEqual({ charge: { charged: 3 } });
    const { body: listed } = await client.get('/api/sagas?search=order%201&tag=shop:a');
    expect(listed.items).toMatchObject([{ id: body.id, correlationId: 'order 1' }]);
  });

  test('starts nothing twice: the same correlation id returns the same saga, and refuses another input', async () => {
    const { client } = await apps.start({ sagas: [Pay] });
    const first = await client.post('/api/sagas', { ...start, correlationId: 'once' });
    const again = await client.post('/api/sagas', { ...start, correlationId: 'once' });
    expect(again.body).toEqual({ id: first.body.id, created: false });
    const other = { ...start, input: { amount: 4 }, correlationId: 'once' };
    const { status, body } = await client.post('/api/sagas', other);
    expect([status, body.code]).toEqual([409, 'SAGA_CONFLICT']);
    expect(await apps.sql('SELECT 1 FROM saga.instance')).toHaveLength(1);
  });

  test.each([
    [{ ...start, input: { amount: 'much' } }, 400, 'SAGA_VALIDATION', /input\.amount: must be number/],
    [{ ...start, input: undefined }, 400, 'SAGA_VALIDATION', /input/],
    [{ ...start, tag: {} }, 400, 'SAGA_VALIDATION', /'tag'. Did you mean 'tags'/],
    [{ ...start, priority: 101 }, 400, 'SAGA_VALIDATION', /priority is 101/],
    [{ ...start, startAt: 'soon' }, 400, 'SAGA_VALIDATION', /startAt/],
    [{ input: {} }, 400, 'SAGA_VALIDATION', /saga is undefined/],
    [{ ...start, saga: 'pya' }, 404, 'SAGA_DEFINITION', /no saga named 'pya'.*Did you mean 'pay'/],
    ['{', 400, undefined, /JSON/],
  ])('refuses %j, names the place, and starts nothing', async (sent, status, code, message) => {
    const { client } = await apps.start({ sagas: [Pay] });
    const answer = await client.post('/api/sagas', sent);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.message).toMatch(message);
    expect(await apps.sql('SELECT 1 FROM saga.instance')).toEqual([]);
  });

  test('is guarded: authorize decides by the name of the saga, and a page of another site can start nothing', async () => {
    const asked: AdminAction[] = [];
    const authorize = (action: AdminAction) => (asked.push(action), action.saga !== 'pay');
    const { client } = await apps.start({ sagas: [Pay], admin: { authorize } });
    const refused = await client.post('/api/sagas', start);
    expect([refused.status, refused.body.code]).toEqual([403, 'SAGA_ADMIN_FORBIDDEN']);
    expect(asked).toEqual([{ kind: 'start', saga: 'pay', parameters: start }]);
    expect((await client.post('/api/sagas', start, { 'x-saga-admin': '' })).status).toBe(403);
    expect(await apps.sql('SELECT 1 FROM saga.instance')).toEqual([]);
  });
});

describe('GET api/sagas/:id?wait', () => {
  test('answers as soon as the saga has ended', async () => {
    const { client, sagas } = await apps.start({ sagas: [Waiting] });
    const { id } = await sagas.start(Waiting, {});
    const answer = client.get(`/api/sagas/${id}?wait=30s`);
    await client.post(`/api/sagas/${id}/signal`, { signal: 'go', payload: { word: 'a' } });
    expect((await answer).body).toMatchObject({ id, status: 'completed' });
  });

  test('answers with the saga as it is once the time is over', async () => {
    const { client, sagas } = await apps.start({ sagas: [Waiting] });
    const { id } = await sagas.start(Waiting, {});
    const { status, body } = await client.get(`/api/sagas/${id}?wait=50ms`);
    expect([status, body.status]).toEqual([200, 'running']);
  });

  test.each(['soon', '2m', '1ms&wait=2ms'])('refuses wait=%s', async (wait) => {
    const { client, sagas } = await apps.start({ sagas: [Waiting] });
    const { id } = await sagas.start(Waiting, {});
    const { status, body } = await client.get(`/api/sagas/${id}?wait=${wait}`);
    expect([status, body.code]).toEqual([400, 'SAGA_VALIDATION']);
  });

  test('waits for no saga that the caller may not see', async () => {
    const authorize = ({ saga }: AdminAction) => saga === undefined;
    const { client, sagas } = await apps.start({ sagas: [Waiting], admin: { authorize } });
    const { id } = await sagas.start(Waiting, {});
    expect((await client.get(`/api/sagas/${id}?wait=30s`)).status).toBe(404);
  });
});
