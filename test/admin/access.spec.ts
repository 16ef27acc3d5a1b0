import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UnauthorizedException,
  ValidationPipe,
  VersioningType,
} from '@nestjs/common';
import { SagaAdminModule, type AdminAction } from '../../libs/admin/src/index.js';
import { Approval, Saga, SagaConfigurationError, Step, WaitFor } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();

@Saga({ name: 'payment' })
class Payment {
  @WaitFor({ signal: 'go' }) go() {}
}

@Saga({ name: 'greeting' })
class Greeting {
  @Step() greet() {}
}

@Saga({ name: 'transfer', onFailure: 'suspend' })
class Transfer {
  @Approval() allow() {}
  @Step() pay() {}
}

@Injectable()
class Keys {
  readonly valid = 'open sesame';
}

@Injectable()
class KeyGuard implements CanActivate {
  constructor(private readonly keys: Keys) {}
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['x-key'] === this.keys.valid) return true;
    throw new UnauthorizedException();
  }
}
Reflect.defineMetadata('design:paramtypes', [Keys], KeyGuard);

class KeysModule {}

describe('access requires an explicit setting', () => {
  test.each<[string, object, RegExp]>([
    [
      'without guards',
      { guards: undefined },
      /there are no guards, .*guards: \[YourAuthGuard\], or guards: \[\]/,
    ],
    ['with what is no guard', { guards: ['admin'] }, /guards is \[ 'admin' \]; give an array of guards/],
    ['with a guard that is in no array', { guards: KeyGuard }, /guards is .*give an array of guards/],
    ['with an option that there is not', { guard: [] }, /unknown option 'guard'\. Did you mean 'guards'\?/],
    [
      'with a path that the router would take for another',
      { path: ':id' },
      /path is ':id'; give a path such as/,
    ],
    ['with an empty path', { path: '/' }, /path is '\/'; give a path such as/],
    ['with leave given by no function', { authorize: true }, /authorize is true; give a function/],
    ['with an operator that is no function', { operator: 'ada' }, /operator is 'ada'; give a function/],
    [
      'with an origin that has a path',
      { origins: ['https://a.example/x'] },
      /origins is .*; give an array of origins/,
    ],
  ])('an application does not start %s', async (_, admin, fix) => {
    const start = apps.start({ admin });
    await expect(start).rejects.toThrow(fix);
    await expect(start).rejects.toThrow(SagaConfigurationError);
  });

  test('an application does not start without SagaModule', async () => {
    const { NestFactory } = await import('@nestjs/core');
    const module = { module: class Lonely {}, imports: [SagaAdminModule.register({ guards: [] })] };
    const nest = await NestFactory.create(module, { logger: false, abortOnError: false });
    await expect(nest.init()).rejects.toThrow(/found no SagaModule. Import SagaModule.forRoot\(\)/);
  });

  test('guards, with what they inject, stand before the page, its files and every route', async () => {
    const { client } = await apps.start({
      sagas: [Greeting],
      admin: { guards: [KeyGuard], imports: [{ module: KeysModule, providers: [Keys], exports: [Keys] }] },
    });
    const known = client.as({ 'x-key': 'open sesame' });
    const page = (await known.get('')).body as string;
    const asset = /src="sagas(\/assets\/[^"]+)"/.exec(page)![1]!;
    const id = '00000000-0000-7000-8000-000000000000';
    for (const path of ['', asset, '/api/sagas', '/api/definitions', '/api/context', `/api/sagas/${id}`])
      expect([path, (await client.get(path)).status]).toEqual([path, 401]);
    for (const action of ['cancel', 'abort', 'retry', 'resolve', 'signal', 'approve'])
      expect((await client.post(`/api/sagas/${id}/${action}`)).status).toBe(401);
    expect((await client.post('/api/bulk')).status).toBe(401);
    expect((await known.get('/api/sagas')).status).toBe(200);
    expect((await known.get(asset)).status).toBe(200);
  });
});

describe('authorize', () => {
  const authorize = ({ kind, saga }: AdminAction, { headers }: { headers: Record<string, string> }) =>
    headers['x-role'] === 'admin' || (kind === 'look' && saga !== 'payment');

  test('separates those who may look from those who may act, saga by saga', async () => {
    const { sagas, client } = await apps.start({ sagas: [Payment, Greeting], admin: { authorize } });
    const payment = await sagas.start(Payment, {});
    const greeting = await sagas.start(Greeting, {});
    await greeting.outcome();
    const admin = client.as({ 'x-role': 'admin' });

    const seen = async (by: typeof client) => (await by.list()).items.map(({ saga }) => saga);
    expect(await seen(admin)).toEqual(['greeting', 'payment']);
    expect(await seen(client)).toEqual(['greeting']);
    expect((await client.get('/api/sagas?saga=payment')).status).toBe(403);
    for (const part of ['', '/history', '/rollback', '/graph'])
      // The answer is as for an unknown saga: a caller without access does not learn that the saga exists.
      expect((await client.get(`/api/sagas/${payment.id}${part}`)).body).toEqual({
        ...{ statusCode: 404, code: 'SAGA_NOT_FOUND' },
        message: `No saga has the id '${payment.id}'.`,
      });
    expect((await client.get('/api/context')).body).toEqual({ sagas: ['greeting'], bulk: false });
    expect((await client.get('/api/definitions')).body).toHaveLength(1);
    expect((await client.get('/api/rates?saga=payment')).status).toBe(403);
    const { buckets } = (await client.get('/api/rates')).body as { buckets: { sagas: object[] }[] };
    const rated = buckets.flatMap((bucket) => bucket.sagas);
    expect(rated).toMatchObject([{ saga: 'greeting' }]);

    expect((await client.get(`/api/sagas/${greeting.id}`)).body.actions).toEqual([]);
    expect((await admin.get(`/api/sagas/${greeting.id}`)).body.actions).toEqual([{ kind: 'undo' }]);
    expect((await client.post(`/api/sagas/${greeting.id}/undo`)).status).toBe(403);
    expect((await client.post(`/api/sagas/${payment.id}/cancel`)).status).toBe(403);
    expect((await sagas.get(payment.id)).status).toBe('running');
    expect((await admin.post(`/api/sagas/${payment.id}/cancel`)).status).toBe(200);
  });

  test('receives the action and the saga, and permits it only by returning true', async () => {
    const asked: AdminAction[] = [];
    const { sagas, client } = await apps.start({
      sagas: [Payment],
      admin: {
        authorize: (action) => {
          asked.push(action);
          return 'yes' as unknown as boolean;
        },
      },
    });
    const { id } = await sagas.start(Payment, {});
    expect((await client.post(`/api/sagas/${id}/abort`)).status).toBe(403);
    expect((await client.post('/api/bulk', { action: 'abort', filter: { saga: 'payment' } })).status).toBe(
      403,
    );
    expect(asked).toEqual([
      { kind: 'abort', saga: 'payment', id, parameters: {} },
      // Whether the caller may learn that the saga exists, and the answer if it does not exist.
      { kind: 'look', saga: 'payment', id },
      { kind: 'abort', parameters: {} },
      { kind: 'bulk', saga: 'payment', parameters: { action: 'abort', filter: { saga: 'payment' } } },
    ]);
  });

  test('decides by the step and by what was sent: who may approve, and who may change an input', async () => {
    const mayAct = ({ kind, step, parameters }: AdminAction) =>
      kind === 'look' || (step !== 'allow' && parameters?.input === undefined);
    const { sagas, client } = await apps.start({ sagas: [Transfer], admin: { authorize: mayAct } });
    const { id } = await sagas.start(Transfer, {});
    const path = `/api/sagas/${id}`;
    await until(async () => (await client.get(path)).body.waitingFor?.kind === 'approval');
    const { actions } = (await client.get(path)).body as { actions: { steps?: string[] }[] };
    expect(actions.flatMap(({ steps = [] }) => steps)).toEqual([]);
    expect((await client.get('/api/tasks')).body.items).toMatchObject([{ step: 'allow', actions: [] }]);
    expect((await client.post(`${path}/approve`, { step: 'allow', by: 'ann' })).status).toBe(403);
    const answer = await client.post(`${path}/retry`, { input: { to: 'me' }, by: 'ann' });
    expect([answer.status, answer.body.code]).toEqual([403, 'SAGA_ADMIN_FORBIDDEN']);
    expect((await client.post(`${path}/retry`, { by: 'ann' })).status).toBe(409);
  });

  test('offers no way around an approval to those who may not approve, and refuses each', async () => {
    const mayAct = ({ kind }: AdminAction) => kind !== 'approve';
    const { sagas, client } = await apps.start({ sagas: [Transfer], admin: { authorize: mayAct } });
    const { id } = await sagas.start(Transfer, {});
    const path = `/api/sagas/${id}`;
    const offered = async (status: string) => {
      await until(
        async () => (await sagas.get(id)).status === status && (await sagas.get(id)).waitingFor !== undefined,
      );
      const { actions } = (await client.get(path)).body as { actions: { kind: string; steps?: string[] }[] };
      return actions.filter(({ steps }) => steps?.includes('allow')).map(({ kind }) => kind);
    };
    expect(await offered('running')).toEqual(['reject', 'reschedule']);
    const resolved = await client.post(`${path}/resolve`, { step: 'allow', by: 'ann' });
    expect([resolved.status, resolved.body.code]).toEqual([403, 'SAGA_ADMIN_FORBIDDEN']);
    await client.post(`${path}/reject`, { step: 'allow', by: 'ann' });
    expect(await offered('suspended')).toEqual(['retry']);
    const failed = await client.post(`${path}/resolve`, { step: 'allow', by: 'ann' });
    expect([failed.status, failed.body.code]).toEqual([409, 'SAGA_STATE']);
  });

  test('takes the right to approve, and no other, to resolve an approval, and approves it so', async () => {
    const asked: AdminAction[] = [];
    const mayAct = (action: AdminAction) => {
      if (action.kind !== 'look') asked.push(action);
      return action.kind === 'look' || action.kind === 'approve';
    };
    const { sagas, operations, client } = await apps.start({
      sagas: [Transfer],
      admin: { authorize: mayAct },
    });
    const { id } = await sagas.start(Transfer, {});
    const path = `/api/sagas/${id}`;
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'approval');
    const nobody = await client.post(`${path}/resolve`, { step: 'allow' });
    expect([nobody.status, nobody.body.code]).toEqual([400, 'SAGA_VALIDATION']);
    asked.length = 0;
    const answer = await client.post(`${path}/resolve`, { step: 'allow', by: 'ann', reason: 'checked' });
    expect(answer.body).toEqual({ done: true });
    expect(asked).toMatchObject([{ kind: 'approve', saga: 'transfer', id, step: 'allow' }]);
    expect((await sagas.wait(id)).status).toBe('completed');
    expect(await operations.history(id)).toMatchObject([{ action: 'approve', by: 'ann', reason: 'checked' }]);
    const again = await client.post(`${path}/resolve`, { step: 'allow', by: 'ann' });
    expect([again.status, asked.at(-1)?.kind]).toEqual([403, 'resolve']);
  });
});

describe('actions are taken from the admin’s own pages, and from programs', () => {
  const send = async (headers: Record<string, string>, body = '{}') => {
    const { sagas, url } = await apps.start({
      sagas: [Payment],
      admin: { origins: ['https://ops.example'] },
    });
    const { id } = await sagas.start(Payment, {});
    const host = new URL(url).host;
    const answer = await fetch(`${url}/sagas/api/sagas/${id}/abort`, {
      method: 'POST',
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, value.replace('HOST', host)]),
      ),
      body,
    });
    const { code } = (await answer.json()) as { code?: string };
    const { status } = await sagas.get(id);
    return [answer.status, code, status];
  };
  const JSON_TYPE = { 'content-type': 'application/json' };
  const OURS = { ...JSON_TYPE, 'x-saga-admin': '1' };

  test.each<[string, Record<string, string>]>([
    ['a program', OURS],
    ['a page of the admin', { ...OURS, 'sec-fetch-site': 'same-origin', origin: 'http://HOST' }],
    [
      'the same behind a proxy that changes hosts',
      { ...OURS, 'sec-fetch-site': 'same-origin', origin: 'https://x.example' },
    ],
    ['a page of the admin in a browser that tells the origin alone', { ...OURS, origin: 'http://HOST' }],
    [
      'an origin that was allowed',
      { ...OURS, 'sec-fetch-site': 'cross-site', origin: 'https://ops.example' },
    ],
    ['a charset beside the type', { ...OURS, 'content-type': 'Application/JSON; charset=utf-8' }],
  ])('taken: %s', async (_, headers) => {
    expect(await send(headers)).toEqual([200, undefined, 'aborted']);
  });

  test.each<[string, Record<string, string>, number, string]>([
    [
      'a form of another site',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'SAGA_ADMIN_CONTENT_TYPE',
    ],
    ['a form that pretends', { 'content-type': 'text/plain' }, 415, 'SAGA_ADMIN_CONTENT_TYPE'],
    [
      'text that the type only ends with',
      { ...OURS, 'content-type': 'text/plain; application/json' },
      415,
      'SAGA_ADMIN_CONTENT_TYPE',
    ],
    ['without the header', JSON_TYPE, 403, 'SAGA_ADMIN_HEADER'],
    ['a script of another site', { ...OURS, 'sec-fetch-site': 'cross-site' }, 403, 'SAGA_ADMIN_ORIGIN'],
    ['a script of a sister site', { ...OURS, 'sec-fetch-site': 'same-site' }, 403, 'SAGA_ADMIN_ORIGIN'],
    ['another origin', { ...OURS, origin: 'https://evil.example' }, 403, 'SAGA_ADMIN_ORIGIN'],
    ['no origin in so many words', { ...OURS, origin: 'null' }, 403, 'SAGA_ADMIN_ORIGIN'],
  ])('refused: %s', async (_, headers, status, code) => {
    expect(await send(headers)).toEqual([status, code, 'running']);
  });
});

describe('in applications as they are', () => {
  test('it works below a global prefix, with versions in the path, and behind a strict global pipe', async () => {
    const { url, sagas } = await apps.start({
      sagas: [Payment],
      admin: { path: '/ops/sagas/' },
      prepare: (nest) => {
        nest.setGlobalPrefix('internal');
        nest.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
        nest.useGlobalPipes(
          new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }),
        );
      },
    });
    const { id } = await sagas.start(Payment, {});
    const base = `${url}/internal/ops/sagas`;
    expect((await fetch(`${base}/api/sagas?saga=payment&limit=5`)).status).toBe(200);
    const answer = await fetch(`${base}/api/sagas/${id}/abort`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-saga-admin': '1' },
      body: JSON.stringify({ reason: 'enough' }),
    });
    expect(answer.status).toBe(200);
    // Whether the address of the page ends with a slash or not, its files are found.
    for (const page of [base, `${base}/`]) {
      const html = await (await fetch(page)).text();
      const src = /src="([^"]+)"/.exec(html)![1]!;
      expect((await fetch(new URL(src, page))).headers.get('content-type')).toContain('javascript');
    }
  });

  test('options may come from a factory; the page and the policy of what it may load go together', async () => {
    const other = SagaAdminModule.registerAsync({
      guards: [],
      path: 'later',
      useFactory: async () => ({ title: 'from a factory' }),
    });
    const { url } = await apps.start({ imports: [other] });
    expect(await (await fetch(`${url}/later/api/context`)).json()).toMatchObject({ title: 'from a factory' });
    const page = await fetch(`${url}/later`);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const html = await page.text();
    expect(html).not.toMatch(/https?:\/\//);
    expect(html).not.toMatch(/<style|style=|onclick|<script(?! type="module" src=)/);
  });

  test('without the dashboard there are the routes alone', async () => {
    const { client } = await apps.start({ admin: { dashboard: false } });
    expect((await client.get('')).status).toBe(404);
    expect((await client.get('/api/sagas')).status).toBe(200);
  });

  test('files that are no part of the dashboard cannot be asked for, and refusals are not kept', async () => {
    const { client } = await apps.start();
    const version = /assets\/([0-9a-f]+)\//.exec((await client.get('')).body as string)![1]!;
    for (const path of ['index.html', '..%2f..%2findex.js', '%2e%2e%2findex.js', 'nothing.js', '__proto__']) {
      const answer = await client.get(`/assets/${version}/${path}`);
      expect(answer.status).toBe(404);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
    expect((await client.get('/assets/0000/app.js')).status).toBe(404);
    expect((await client.get(`/assets/${version}/app.js`)).headers.get('cache-control')).toContain(
      'immutable',
    );
  });
});
