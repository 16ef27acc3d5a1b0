import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { Credentials } from '../../libs/declared/src/daemon/access/credentials.js';
import { until } from '../support/gate.js';
import { clientOf, did, ServedFolder } from './support/served-folder.js';

const ORDER = `
saga: place-order
input:
  type: object
  required: [sku, amount]
  properties: { sku: { type: string }, amount: { type: number } }
steps:
  reserve:
    exec: { command: ${did('reserved')}, result: '{ "id": 7 }' }
    compensate: { exec: { command: ${did('released {{ result.id }}')} } }
  approve: { approval: {}, when: input.amount > 1000 }
  charge: { exec: { command: ${did('charged {{ input.amount }}')} } }
`;
const [SHOP, ANN, EYE] = ['a-token-of-the-shop', 'a-token-of-ann-123', 'a-token-of-an-eye'];
const TOKENS = `shop client ${SHOP}\nann operator ${ANN}\neye viewer ${EYE}`;
const start = (amount: number) => ({ saga: 'place-order', input: { sku: 'cup', amount } });

let served: ServedFolder;
beforeEach(async () => void (served = await ServedFolder.create({ 'place-order.yaml': ORDER })));
afterEach(() => served.end());

describe('a daemon without authentication, on this machine', () => {
  test('runs a saga that is started over REST, waits for an approval, and keeps it for the next daemon', async () => {
    const first = await served.start();
    const client = clientOf(first);
    const small = await client.post('/api/sagas', start(12));
    expect((await client.get(`/api/sagas/${small.body.id}?wait=60s`)).body.status).toBe('completed');
    const { body: large } = await client.post('/api/sagas', start(1200));
    await served.stop(first);
    const next = clientOf(await served.start());
    const approval = await next.post(`/api/sagas/${large.id}/approve`, { step: 'approve', by: 'ann' });
    expect(approval.body).toEqual({ done: true });
    const { body } = await next.get(`/api/sagas/${large.id}?wait=60s`);
    expect([body.status, await served.did()]).toEqual([
      'completed',
      ['reserved', 'charged 12', 'reserved', 'charged 1200'],
    ]);
  });

  test('records who decided as the request says, and otherwise as anonymous', async () => {
    const client = clientOf(await served.start());
    const decided = async (by: object) => {
      const { body: saga } = await client.post('/api/sagas', start(1200));
      await until(async () => (await client.get(`/api/sagas/${saga.id}`)).body.waitingFor !== undefined);
      await client.post(`/api/sagas/${saga.id}/approve`, { step: 'approve', ...by });
      return (await client.get(`/api/sagas/${saga.id}?wait=60s`)).body.steps[1].result as object;
    };
    expect(await decided({})).toMatchObject({ by: 'anonymous' });
    expect(await decided({ by: 'ann' })).toMatchObject({ by: 'ann' });
    expect((await client.get('/api/context')).body.operator).toBeUndefined();
  });

  test('sends requests of sagas to private addresses only if it is allowed to', async () => {
    const asked: string[] = [];
    const server = createServer((req, res) => {
      asked.push(req.url!);
      res.end('{}');
    }).listen(0, '127.0.0.1');
    try {
      await until(() => server.listening);
      const { port } = server.address() as AddressInfo;
      await served.write(
        'ask.yaml',
        `saga: ask\nsteps: { ask: { http: { url: 'http://localhost:${port}/asked' } } }`,
      );
      const outcomes: unknown[] = [];
      for (const network of [
        undefined,
        { allowHosts: ['example.com'] },
        { allowHosts: [`localhost:${port}`] },
      ]) {
        const daemon = await served.start({ network });
        const client = clientOf(daemon);
        const { body: saga } = await client.post('/api/sagas', { saga: 'ask' });
        const { body } = await client.get(`/api/sagas/${saga.id}?wait=60s`);
        outcomes.push([body.status, body.failure?.kind, asked.length]);
        await served.stop(daemon);
      }
      expect(outcomes).toEqual([
        ['compensated', 'rejected', 0],
        ['compensated', 'rejected', 0],
        ['completed', undefined, 1],
      ]);
    } finally {
      server.close();
    }
  });

  test('validates an input by the schema of the file, and shows the path', async () => {
    const client = clientOf(await served.start());
    const { status, body } = await client.post('/api/sagas', { saga: 'place-order', input: { sku: 1 } });
    expect([status, body.code]).toEqual([400, 'SAGA_VALIDATION']);
    expect(body.message).toMatch(/input\.sku: must be string/);
  });

  test('asks the database once a second at most for its health, counts nothing, and reports an outage', async () => {
    const daemon = await served.start();
    const health = async () => (await fetch(`${daemon.address}/health`)).status;
    expect(await health()).toBe(200);
    const blocker = new pg.Client({ connectionString: served.database.url });
    await blocker.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE saga.instance IN ACCESS EXCLUSIVE MODE');
      const asked = await Promise.all(Array.from({ length: 100 }, health));
      expect(new Set(asked)).toEqual(new Set([200]));
      await blocker.query('LOCK TABLE saga.migration IN ACCESS EXCLUSIVE MODE');
      await until(async () => (await health()) === 503);
      await Promise.all(Array.from({ length: 100 }, health));
      const { rowCount } = await blocker.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE 'SELECT FROM %migration%' AND pid <> pg_backend_pid()`,
      );
      expect(rowCount).toBe(1);
    } finally {
      await blocker.end();
    }
    await until(async () => (await health()) === 200);
  });

  test('reports health, metrics for Prometheus, and the document of its routes', async () => {
    const daemon = await served.start();
    const client = clientOf(daemon);
    const { body: saga } = await client.post('/api/sagas', start(12));
    await client.get(`/api/sagas/${saga.id}?wait=60s`);
    const page = async (path: string) => (await fetch(`${daemon.address}${path}`)).text();
    expect(JSON.parse(await page('/health'))).toEqual({ status: 'up' });
    expect(await page('/metrics')).toMatch(
      /^saga_finished_total\{saga_name="place-order",saga_status="completed"/m,
    );
    const document = JSON.parse(await page('/openapi.json'));
    expect(document.paths['/sagas/api/sagas']).toMatchObject({ get: {}, post: {} });
    expect(await page('/sagas/')).toMatch(/<html/);
    await served.stop(daemon);
    // The SDK of the process is free for the next one.
    const next = await served.start();
    expect(await (await fetch(`${next.address}/metrics`)).text()).toMatch(/^saga_due\{/m);
  });

  test.each([false, true])(
    'answers only requests that name this machine, since another name could be that of any page: --allow-anonymous=%s',
    async (allowAnonymous) => {
      // Requests from other machines are what --allow-anonymous allows, and this daemon has none.
      const { address } = await served.start({ allowAnonymous });
      const statusFor = (host: string) =>
        new Promise((resolve) =>
          request(`${address}/sagas/api/sagas`, { headers: { host } }, (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          }).end(),
        );
      expect(await statusFor('evil.example:80')).toBe(403);
      for (const host of ['localhost', '127.0.0.1:8080', 'LOCALHOST:1'])
        expect(await statusFor(host)).toBe(200);
    },
  );

  test.each(['0.0.0.0', '::', '192.0.2.1'])('does not listen on %s, unless told to', async (host) => {
    await expect(served.start({ host })).rejects.toMatchObject({
      code: 'SAGA_CONFIGURATION',
      message: expect.stringMatching(/reachable from other machines.*--token-file/),
    });
  });
});

describe('a daemon with tokens', () => {
  const start_ = start(12);

  test('answers health to everybody, and everything else only to those who have a token', async () => {
    const daemon = await served.start({ credentials: Credentials.read(TOKENS, 'tokens') });
    const statusOf = async (path: string, headers = {}) =>
      (await fetch(`${daemon.address}${path}`, { headers })).status;
    expect(await statusOf('/health')).toBe(200);
    for (const path of [
      '/',
      '/metrics',
      '/openapi.json',
      '/sagas/',
      '/sagas/api/sagas',
      '/sagas/assets/1/app.js',
    ])
      expect([path, await statusOf(path)]).toEqual([path, 401]);
    expect(await statusOf('/metrics', { authorization: `Bearer ${EYE}` })).toBe(200);
    const basic = Buffer.from(`ann:${ANN}`).toString('base64');
    expect(await statusOf('/sagas/', { authorization: `Basic ${basic}` })).toBe(200);
    const { headers } = await fetch(`${daemon.address}/sagas/`);
    expect(headers.get('www-authenticate')).toMatch(/^Basic /);
  });

  test('lets viewers read, clients start and signal, and operators do the rest, by their own names', async () => {
    const daemon = await served.start({ credentials: Credentials.read(TOKENS, 'tokens') });
    const [shop, ann, eye] = [SHOP, ANN, EYE].map((token) => clientOf(daemon, token));
    expect((await eye!.post('/api/sagas', start_)).status).toBe(403);
    const { body: saga } = await shop!.post('/api/sagas', start(1200));
    const decision = { step: 'approve', by: 'another operator' };
    expect((await shop!.post(`/api/sagas/${saga.id}/approve`, decision)).status).toBe(403);
    expect((await eye!.get(`/api/sagas/${saga.id}`)).body.actions).toEqual([]);
    expect((await ann!.post(`/api/sagas/${saga.id}/approve`, decision)).body).toEqual({ done: true });
    const { body } = await shop!.get(`/api/sagas/${saga.id}?wait=60s`);
    expect(body.steps[1]).toMatchObject({ name: 'approve', result: { by: 'ann' } });
  });
});
