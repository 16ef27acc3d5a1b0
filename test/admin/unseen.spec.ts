import { randomUUID } from 'node:crypto';
import type { AdminAction } from '../../libs/admin/src/index.js';
import { Saga, Step, StepRejectedError, WaitFor } from '../../libs/saga/src/index.js';
import { type AdminApp, AdminApps } from './support/admin-apps.js';

@Saga({ name: 'secret' })
class Secret {
  @Step() act() {}
}
@Saga({ name: 'mine', onFailure: 'suspend', redact: ['card'] })
class Mine {
  @Step() act() {
    throw new StepRejectedError('no');
  }
}
@Saga({
  ...{ name: 'locked', lockMode: 'reject', lockKey: ({ input }: { input: { key: string } }) => input.key },
  schedule: { cron: '0 0 1 1 *', input: () => ({ key: 'k' }), overlap: 'allow' },
})
class Locked {
  @WaitFor({ signal: 'go' }) go() {}
}

const apps = AdminApps.onOwnDatabase();
const GETS = ['', '/history', '/rollback', '/graph'];
const POSTS = [
  'cancel',
  'abort',
  'undo',
  'pause',
  'resume',
  'retry',
  'resolve',
  'signal',
  'approve',
  'reject',
];

/** Every answer that a caller gets about an id. */
async function answersOf(url: string, id: string, body: object) {
  const ask = async (path: string, init: RequestInit) => {
    const answer = await fetch(`${url}/sagas/api/sagas/${id}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json', 'x-saga-admin': '1' },
    });
    return { path, status: answer.status, text: (await answer.text()).replaceAll(id, '<id>') };
  };
  return [
    ...(await Promise.all(GETS.map((path) => ask(path, {})))),
    ...(await Promise.all(
      POSTS.map((call) => ask(`/${call}`, { method: 'POST', body: JSON.stringify(body) })),
    )),
  ];
}

test.each<[string, (action: AdminAction) => boolean]>([
  ['who may do nothing', () => false],
  ['who may see their own sagas alone', ({ saga }) => saga === 'mine'],
  ['who may see all but this one', ({ saga }) => saga !== 'secret'],
])('to those %s, a saga that they may not see is as one that is not there', async (_, authorize) => {
  const app = await apps.start({ sagas: [Secret, Mine], admin: { authorize } });
  const { id } = await app.sagas.start(Secret, {});
  for (const body of [{}, { nope: 1 }, { step: 'act', signal: 's', by: 'ann' }]) {
    const there = await answersOf(app.url, id, body);
    expect(there).toEqual(await answersOf(app.url, randomUUID(), body));
    for (const { status } of there) expect([403, 404]).toContain(status);
  }
  expect((await app.sagas.wait(id)).status).toBe('completed');
  expect(await app.operations.history(id)).toEqual([]);
});

test('permission is checked before the body is read, and separately for reading and for acting', async () => {
  const authorize = ({ kind, saga }: AdminAction) => saga === 'mine' && kind === 'look';
  const app = await apps.start({ sagas: [Secret, Mine], admin: { authorize } });
  const { id } = await app.sagas.start(Mine, {});
  const answers = await answersOf(app.url, id, { nope: 1 });
  expect(answers.map(({ path, status }) => [path, status])).toEqual([
    ...GETS.map((path) => [path, 200]),
    ...POSTS.map((call) => [`/${call}`, 403]),
  ]);
  const client = async (path: string, init: RequestInit = {}) =>
    (
      await fetch(`${app.url}/sagas/api/${path}`, {
        ...init,
        headers: { 'content-type': 'application/json', 'x-saga-admin': '1' },
      })
    ).status;
  expect(await client('sagas?nope=1')).toBe(403);
  expect(await client('sagas?saga=secret&nope=1')).toBe(403);
  expect(await client('rates?hours=x')).toBe(403);
  const body = JSON.stringify({ nope: 1, filter: { saga: 'mine' } });
  expect(await client('bulk', { method: 'POST', body })).toBe(403);
});

test('the history shows what calls were given, but for what is redacted', async () => {
  const app = await apps.start({ sagas: [Mine] });
  const { id, outcome } = await app.sagas.start(Mine, {});
  await outcome();
  await app.operations.retry(id, { by: 'ann', input: { amount: 1, card: '4111' } });
  await app.sagas.wait(id);
  await app.operations.resolve(id, 'act', { by: 'ann', result: { amount: 2, card: '4111' } });
  const answer = await fetch(`${app.url}/sagas/api/sagas/${id}/history`);
  const text = await answer.text();
  expect(text).not.toContain('4111');
  expect(JSON.parse(text)).toMatchObject([
    { action: 'retry', input: { amount: 1 } },
    { action: 'resolve', result: { amount: 2 } },
  ]);
});

describe('a start never discloses a saga that the caller may not see', () => {
  const asTenant = async (app: AdminApp, tenant: string, body: object) => {
    const { status, body: answer } = await app.client.as({ 'x-tenant': tenant }).post('/api/sagas', body);
    return [status, answer] as const;
  };

  /** Each tenant sees its own sagas, and `shared` sees all. */
  async function tenants(): Promise<AdminApp> {
    const app: AdminApp = await apps.start({
      sagas: [Secret, Mine, Locked],
      admin: {
        authorize: async ({ id }, { headers }: { headers: Record<string, string> }) => {
          const tenant = headers['x-tenant'];
          return id === undefined || tenant === 'shared' || (await app.sagas.get(id)).tags.tenant === tenant;
        },
      },
    });
    return app;
  }

  const concealed = (id: string) => {
    const message = expect.not.stringMatching(new RegExp(`${id}|secret|order-1`));
    return [409, { statusCode: 409, code: 'SAGA_CONFLICT', message }];
  };

  test('that has the same correlation id, or the same id', async () => {
    const app = await tenants();
    const start = { saga: 'secret', input: { n: 1 }, correlationId: 'order-1', tags: { tenant: 'a' } };
    const [, { id }] = await asTenant(app, 'a', start);
    const tries = [
      start,
      { ...start, input: { n: 2 } },
      { saga: 'secret', input: { n: 1 }, id },
      { saga: 'mine', input: { n: 1 }, id },
    ];
    const answers = await Promise.all(tries.map((body) => asTenant(app, 'b', body)));
    for (const answer of answers) {
      expect(answer).toEqual(concealed(id));
      expect(answer).toEqual(answers[0]);
    }
    expect(await asTenant(app, 'a', start)).toEqual([200, { id, created: false }]);
    for (const tenant of ['a', 'shared']) {
      const [status, { message }] = await asTenant(app, tenant, { ...start, input: { n: 2 } });
      expect([status, message]).toEqual([409, expect.stringContaining(id)]);
    }
  });

  test('that has the lock', async () => {
    const app = await tenants();
    const start = { saga: 'locked', input: { key: 'k' }, tags: { tenant: 'a' } };
    const [, { id }] = await asTenant(app, 'a', start);
    expect(await asTenant(app, 'b', start)).toEqual(concealed(id));
    const [status, { message }] = await asTenant(app, 'a', start);
    expect([status, message]).toEqual([409, expect.stringContaining(id)]);
    const trigger = (tenant: string) =>
      app.client.as({ 'x-tenant': tenant }).post('/api/schedules/locked/trigger');
    expect((await trigger('b')).body).toEqual(concealed(id)[1]);
    expect((await trigger('a')).body.message).toContain(id);
  });
});
