import { SourceTextModule } from 'node:vm';
import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  UnauthorizedException,
  ValidationPipe,
  VersioningType,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Saga, WaitFor } from '../../libs/saga/src/index.js';
import type { AdminAction } from '../../libs/admin/src/index.js';
import { type AdminAppOptions, AdminApps } from './support/admin-apps.js';

const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';

@Saga({ name: 'payment' })
class Payment {
  @WaitFor({ signal: 'paid' }) paid() {}
}

/** By a header, as each platform's request has it. */
const knownOnly: CanActivate = {
  canActivate: (context: ExecutionContext) =>
    context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-user'] !== undefined,
};

/** Lets in whom the request names, and answers 401 to others. */
const namedOnly: CanActivate = {
  canActivate: (context) => {
    if (knownOnly.canActivate(context)) return true;
    throw new UnauthorizedException('Log in.');
  },
};

/** Answers every error with 500, as filters of applications do that know no HttpException. */
@Catch()
class AnswersAll implements ExceptionFilter {
  catch(_: unknown, host: ArgumentsHost): void {
    const response: { status(code: number): { send(body: object): unknown } } = host
      .switchToHttp()
      .getResponse();
    response.status(500).send({ message: 'Something went wrong' });
  }
}
const FILTERS = {
  none: {},
  'by APP_FILTER': { providers: [{ provide: APP_FILTER, useClass: AnswersAll }] },
  'by useGlobalFilters()': { prepare: (nest: INestApplication) => nest.useGlobalFilters(new AnswersAll()) },
} satisfies Record<string, AdminAppOptions>;

/** A script that is served, as a module that can be linked. */
async function fetched(address: URL): Promise<SourceTextModule> {
  const answer = await fetch(address);
  expect([address.pathname, answer.status]).toEqual([address.pathname, 200]);
  return new SourceTextModule(await answer.text(), { identifier: address.href });
}

describe.each(['express', 'fastify'] as const)('on %s', (platform) => {
  const apps = AdminApps.onOwnDatabase(platform);

  test('the page comes with its policy, and its files with their types, to be kept', async () => {
    const { url } = await apps.start();
    for (const address of [`${url}/sagas`, `${url}/sagas/`, `${url}/sagas?saga=payment`]) {
      const page = await fetch(address);
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(page.headers.get('cache-control')).toBe('no-store');
      const assets = [...(await page.text()).matchAll(/(?:src|href)="([^"]*assets[^"]+)"/g)].map(
        ([, one]) => one!,
      );
      expect(assets.length).toBeGreaterThan(1);
      for (const asset of assets) {
        const file = await fetch(new URL(asset, address));
        const content = Buffer.from(await file.arrayBuffer());
        expect(file.headers.get('content-type')).toMatch(/^(text\/javascript|text\/css|image\/svg\+xml)/);
        expect(Number(file.headers.get('content-length'))).toBe(content.length);
        expect(file.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
        expect(file.headers.get('x-content-type-options')).toBe('nosniff');
      }
    }
  });

  test('each script of the page finds the scripts and the names that it imports', async () => {
    const { url } = await apps.start();
    const [, app] = /src="([^"]+app\.js)"/.exec(await (await fetch(`${url}/sagas`)).text())!;
    const modules = new Map<string, Promise<SourceTextModule>>();
    const load = (address: URL): Promise<SourceTextModule> => {
      const known = modules.get(address.href) ?? fetched(address);
      modules.set(address.href, known);
      return known;
    };
    const root = await load(new URL(app!, `${url}/sagas`));
    await root.link((specifier, { identifier }) => load(new URL(specifier, identifier)));
    expect(modules.size).toBeGreaterThan(20);
  });

  test('a file that is none is not found, and is not kept', async () => {
    const { client } = await apps.start();
    for (const path of [
      '/assets/0000000000000000/app.js',
      '/assets/..%2f..%2fpackage.json/x',
      '/assets/a/b/c',
    ]) {
      const { status, headers } = await client.get(path);
      expect([status, headers.get('cache-control') ?? 'no-store']).toEqual([404, 'no-store']);
    }
  });

  test('sagas are listed, shown and acted on below a global prefix, with versions, behind a strict pipe', async () => {
    const { sagas, url } = await apps.start({
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
    const { id } = await sagas.start(Payment, {}, { correlationId: 'payment / 1' });
    const api = `${url}/internal/ops/sagas/api/sagas`;
    const listed = await fetch(`${api}?saga=payment&search=${encodeURIComponent('payment / 1')}`);
    expect(await listed.json()).toMatchObject({ items: [{ id }] });
    const headers = { 'content-type': 'application/json', 'x-saga-admin': '1' };
    const body = JSON.stringify({ reason: 'enough' });
    expect((await fetch(`${api}/${id}/abort`, { method: 'POST', headers, body })).status).toBe(200);
    expect(await (await fetch(`${api}/${id}`)).json()).toMatchObject({ id, status: 'aborted' });
  });

  test('guards and `authorize` are given the request of the platform', async () => {
    const seen: unknown[] = [];
    const { client } = await apps.start({
      admin: {
        guards: [knownOnly],
        authorize: (action, request) => {
          seen.push([action.kind, (request as { headers: Record<string, string> }).headers['x-user']]);
          return true;
        },
      },
    });
    expect((await client.get('/api/sagas')).status).toBe(403);
    expect((await client.as({ 'x-user': 'ada' }).get('/api/sagas')).status).toBe(200);
    expect(seen).toEqual(expect.arrayContaining([['look', 'ada']]));
  });

  test('a refusal has a status and a code', async () => {
    const { sagas, operations, client } = await apps.start({ sagas: [Payment] });
    const { id } = await sagas.start(Payment, {});
    await operations.abort(id);
    const answers = {
      unknown: await client.get(`/api/sagas/${UNKNOWN_ID}`),
      state: await client.post(`/api/sagas/${id}/undo`),
      query: await client.get('/api/sagas?status=nowhere'),
      form: await client.post(`/api/sagas/${id}/abort`, 'a=1', {
        'content-type': 'application/x-www-form-urlencoded',
      }),
      origin: await client.post(`/api/sagas/${id}/abort`, {}, { origin: 'https://evil.example' }),
    };
    expect(
      Object.entries(answers).map(([name, { status, body }]) => [
        name,
        status,
        (body as { code?: string }).code,
      ]),
    ).toEqual([
      ['unknown', 404, 'SAGA_NOT_FOUND'],
      ['state', 409, 'SAGA_STATE'],
      ['query', 400, 'SAGA_VALIDATION'],
      ['form', 415, 'SAGA_ADMIN_CONTENT_TYPE'],
      ['origin', 403, 'SAGA_ADMIN_ORIGIN'],
    ]);
  });

  test('a filter of the application for all exceptions changes no answer', async () => {
    const answersWith = async (filter: keyof typeof FILTERS) => {
      const authorize = ({ kind }: AdminAction) => kind !== 'abort';
      const { client, close } = await apps.start({
        sagas: [Payment],
        admin: { guards: [namedOnly], authorize },
        ...(FILTERS[filter] as AdminAppOptions),
      });
      const known = client.as({ 'x-user': 'ada' });
      const answers = {
        unauthorized: await client.get('/api/sagas'),
        page: await client.get(''),
        unknown: await known.get(`/api/sagas/${UNKNOWN_ID}`),
        forbidden: await known.post(`/api/sagas/${UNKNOWN_ID}/abort`),
        query: await known.get('/api/sagas?status=nowhere'),
        origin: await known.post(`/api/sagas/${UNKNOWN_ID}/pause`, {}, { origin: 'https://evil.example' }),
        asset: await known.get('/assets/a/b'),
        noSuchSaga: await known.post('/api/sagas', { saga: 'nothing', input: {} }),
      };
      await close();
      return Object.entries(answers).map(([name, { status, body }]) => ({
        name,
        status,
        body: body as unknown,
      }));
    };
    const own = await answersWith('none');
    expect(own.map(({ status }) => status)).toEqual([401, 401, 404, 403, 400, 403, 404, 404]);
    expect(await answersWith('by APP_FILTER')).toEqual(own);
    expect(await answersWith('by useGlobalFilters()')).toEqual(own);
  });

  test('a body that is no JSON, or too large, is the caller’s fault', async () => {
    const { sagas, client } = await apps.start({ sagas: [Payment] });
    const { id } = await sagas.start(Payment, {});
    const post = async (body: string) => (await client.post(`/api/sagas/${id}/pause`, body)).status;
    expect(await post('{ "reason": ')).toBe(400);
    expect(await post(JSON.stringify({ reason: 'x'.repeat(2 ** 21) }))).toBe(413);
    expect((await sagas.get(id)).status).toBe('running');
    // Fastify takes an announced body for a promise; programs send {}.
    expect(await post('')).toBe(platform === 'fastify' ? 400 : 200);
    expect(await post('{}')).toBe(200);
  });
});
