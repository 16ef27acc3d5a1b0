import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { declareSaga } from '../index.js';

interface Seen {
  readonly method?: string;
  readonly url?: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A participant: it records its requests, and answers by a script. */
let seen: Seen[] = [];
let answer: (res: ServerResponse, req: Seen) => void;
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      const { method, url, headers } = req;
      const one = { method, url, headers, body: Buffer.concat(parts).toString() };
      seen.push(one);
      answer(res, one);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen = [];
  answer = json(200, { id: 'r-1' });
});

function json(status: number, body?: unknown, headers: Record<string, string> = {}) {
  return (res: ServerResponse): void => {
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(body === undefined ? undefined : JSON.stringify(body));
  };
}

/** Answers in this order, and then as the last. */
function inTurn(...answers: (typeof answer)[]): typeof answer {
  return (res, req) => (answers.length > 1 ? answers.shift()! : answers[0]!)(res, req);
}

async function run(text: string, input: unknown = {}, environment: Record<string, string> = {}) {
  const saga = await declareSaga(text, { environment: { URL: url, ...environment } });
  return testOf(saga).run(input);
}

const PUT = (more = '') => `put: { http: { method: PUT, url: "{{ env.URL }}/put"${more} } }`;
const RESERVE =
  'reserve: { http: { url: "{{ env.URL }}/stock", method: POST }, compensate: { http: { method: DELETE, url: "{{ env.URL }}/stock/{{ idempotencyKey }}" } } }';

describe('the path of a request', () => {
  const DELETE = (path: string) =>
    withSteps(`remove: { http: { method: DELETE, url: "{{ env.URL }}${path}" } }`);

  test.each([
    ['/orders/{{ input }}', '..'],
    ['/orders/{{ input }}', '.'],
    ['/orders/{{ input }}', ''],
    ['/orders/{{ input }}/lines', ''],
    ['/orders/{{ input }}/lines?all=true', '..'],
    ['/orders/.{{ input }}', '.'],
    ['/orders/%2e{{ input }}#top', '.'],
    ['/orders/{{ input }}{{ input }}', '.'],
    ['/{{ input }}', ''],
  ])('is the one that the file has: no request to %s with %j', async (path, value) => {
    const { outcome } = await run(DELETE(path), value);
    expect(outcome).toMatchObject({
      status: 'compensated',
      failure: {
        kind: 'rejected',
        error: { message: expect.stringContaining("the expression 'input' failed: its value") },
      },
    });
    expect(seen).toEqual([]);
  });

  test.each([
    ['/orders/{{ input }}', 'a/../b', '/orders/a%2F..%2Fb'],
    ['/orders/{{ input }}', '...', '/orders/...'],
    ['/orders/{{ input }}', '%2e%2e', '/orders/%252e%252e'],
    ['/orders/{{ input }}.json', '', '/orders/.json'],
    ['/orders?q={{ input }}', '', '/orders?q='],
    ['/orders?q={{ input }}', '..', '/orders?q=..'],
    ['/orders#{{ input }}', '..', '/orders'],
  ])('has the value of an expression as one part: %s with %j', async (path, value, sent) => {
    await run(DELETE(path), value);
    expect(seen.map((one) => one.url)).toEqual([sent]);
  });
});

describe('a request', () => {
  test('carries who sends it, and the same key on every attempt', async () => {
    answer = inTurn(json(503), json(200, {}));
    const { id, outcome } = await run(withSteps(PUT()));
    expect(outcome.status).toBe('completed');
    expect(seen.map(({ headers }) => headers)).toMatchObject(
      ['1', '2'].map((attempt) => ({
        ...{ 'saga-id': id, 'saga-step': 'put', 'idempotency-key': `${id}:put`, 'saga-attempt': attempt },
        'saga-fencing-token': expect.stringMatching(/^[1-9]\d*$/),
      })),
    );
  });

  test('has the values of its expressions, with their types', async () => {
    await run(
      withSteps(
        PUT(
          ', headers: { X-Sku: "sku {{ input.sku }}" }, body: { sku: "{{ input.sku }}", lines: "{{ input.lines }}", n: 1 }',
        ),
      ),
      { sku: 'cup', lines: [{ qty: 2 }] },
    );
    expect(JSON.parse(seen[0]!.body)).toEqual({ sku: 'cup', lines: [{ qty: 2 }], n: 1 });
    expect(seen[0]!.headers).toMatchObject({ 'x-sku': 'sku cup', 'content-type': 'application/json' });
  });

  test('cannot be sent elsewhere by a value in its URL', async () => {
    await run(withSteps('get: { http: { url: "{{ env.URL }}/a/{{ input.id }}?q={{ input.id }}" } }'), {
      id: '../b?c&d #e',
    });
    expect(seen[0]!.url).toBe('/a/..%2Fb%3Fc%26d%20%23e?q=..%2Fb%3Fc%26d%20%23e');
  });

  test('is sent once per item of forEach', async () => {
    const { outcome } = await run(
      withSteps(
        'put: { forEach: input.lines, http: { url: "{{ env.URL }}/{{ index }}", body: "{{ item }}" } }',
      ),
      { lines: [{ a: 1 }, { a: 2 }] },
    );
    expect(seen.map(({ url, body }) => [url, body]).sort()).toEqual([
      ['/0', '{"a":1}'],
      ['/1', '{"a":2}'],
    ]);
    expect(outcome.results).toEqual({ put: [{ id: 'r-1' }, { id: 'r-1' }] });
  });
});

describe('the answer', () => {
  test('is the result, or what the file makes of it', async () => {
    const { outcome } = await run(
      withSteps(PUT(), PUT(", result: \"{ 'status': status, 'id': body.id }\"").replace('put', 'pick')),
    );
    expect(outcome.results).toEqual({ put: { id: 'r-1' }, pick: { status: 200, id: 'r-1' } });
  });

  test.each([409, 422, 400, 404, 302])(
    '%i rejects the step: one request, and the saga compensates',
    async (status) => {
      answer = (res, req) =>
        json(req.method === 'PUT' ? status : 200, { reason: 'no' }, { location: '/other' })(res);
      const { outcome } = await run(withSteps(RESERVE, PUT()));
      expect(outcome).toMatchObject({
        status: 'compensated',
        failure: { kind: 'rejected', step: 'put', error: { code: 'SAGA_STEP_REJECTED' } },
      });
      expect(outcome.failure!.error!.message).toContain(
        `PUT {{ env.URL }}/put answered ${status}: {"reason":"no"}`,
      );
      expect(seen.map(({ method }) => method)).toEqual(['POST', 'PUT', 'DELETE']);
    },
  );

  test.each([425, 429, 500, 502, 503, 504])('%i is retried', async (status) => {
    answer = inTurn(json(status), json(200, {}));
    expect((await run(withSteps(PUT()))).outcome.status).toBe('completed');
    expect(seen).toHaveLength(2);
  });

  test('429 with Retry-After is retried no earlier, in seconds or by date', async () => {
    answer = inTurn(json(429, undefined, { 'retry-after': '3600' }), json(200, {}));
    expect((await run(withSteps(PUT()))).took).toBeGreaterThanOrEqual(3_600_000);
    const date = new Date(Date.now() + 7_200_000).toUTCString();
    answer = inTurn(json(503, undefined, { 'retry-after': date }), json(200, {}));
    expect((await run(withSteps(PUT()))).took).toBeGreaterThan(7_000_000);
  });

  test('503 with Retry-After delays the next attempt of a compensation, too', async () => {
    const undo = inTurn(json(503, undefined, { 'retry-after': '900' }), json(200));
    answer = (res, req) =>
      req.method === 'DELETE' ? undo(res, req) : json(req.method === 'PUT' ? 409 : 200)(res);
    const { outcome, took } = await run(withSteps(RESERVE, PUT()));
    expect(outcome.status).toBe('compensated');
    expect(took).toBeGreaterThanOrEqual(900_000);
  });

  test('statuses of the file come before those of the format', async () => {
    answer = json(404);
    expect((await run(withSteps(PUT(', accept: [404]')))).outcome.status).toBe('completed');
    answer = inTurn(json(409), json(200));
    expect((await run(withSteps(PUT(', retry: [409]')))).outcome.status).toBe('completed');
    answer = json(503);
    seen = [];
    expect((await run(withSteps(PUT(', reject: [503]')))).outcome.status).toBe('compensated');
    expect(seen).toHaveLength(1);
  });

  test('that does not come leaves the outcome unknown: the step is compensated, too', async () => {
    answer = (res, req) => (req.method === 'POST' ? res.destroy() : json(200)(res));
    const { outcome } = await run(withSteps(RESERVE));
    expect(outcome).toMatchObject({
      status: 'compensated',
      failure: { error: { code: 'SAGA_UNKNOWN_OUTCOME' } },
    });
    expect(seen.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'DELETE']);
  });

  test('that is too large leaves the outcome unknown', async () => {
    answer = json(200, 'x'.repeat(2_000));
    const { outcome } = await run(withSteps(PUT(', maxBytes: 1000')));
    expect(outcome.failure!.error).toMatchObject({ code: 'SAGA_UNKNOWN_OUTCOME' });
  });

  test('of no server is no effect: the step is retried and not compensated', async () => {
    const { outcome } = await run(withSteps(RESERVE), {}, { URL: 'http://127.0.0.1:1' });
    expect(outcome).toMatchObject({ status: 'compensated', failure: { error: { code: 'SAGA_STEP_CALL' } } });
  });

  test('is found by a probe after a lost response', async () => {
    answer = (res, req) => (req.method === 'POST' ? res.destroy() : json(200, { id: 'found' })(res));
    const probed = RESERVE.replace(
      / }$/,
      ', probe: { http: { url: "{{ env.URL }}/by-key/{{ idempotencyKey }}" } } }',
    );
    const { outcome } = await run(withSteps(probed));
    expect(outcome).toMatchObject({ status: 'completed', results: { reserve: { id: 'found' } } });
  });
});

describe('a secret', () => {
  test('is sent, and neither stored nor part of an error', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'declared-'));
    writeFileSync(join(folder, 'key'), 'sk-very-secret\n');
    answer = (res, { headers }) => json(409, { echoed: headers.authorization })(res);
    const text = `secrets: { key: ${folder}/key }\n${withSteps(
      PUT(', headers: { Authorization: "Bearer {{ secrets.key }}", X-Env: "{{ env.TOKEN }}" }'),
    )}`;
    const { snapshot } = await run(text, {}, { TOKEN: 'token-of-env' });
    expect(seen[0]!.headers).toMatchObject({
      authorization: 'Bearer sk-very-secret',
      'x-env': 'token-of-env',
    });
    const stored = JSON.stringify(snapshot);
    expect(stored).toContain('Bearer ***');
    expect(stored).not.toMatch(/sk-very-secret|token-of-env/);
  });
});

describe('an expression without a value', () => {
  test('in a text rejects the step, and names the expression', async () => {
    const { outcome } = await run(withSteps(PUT(', headers: { X: "a {{ input.none }}" }')));
    expect(outcome.failure!.error!.message).toBe(
      "PUT {{ env.URL }}/put: the expression 'input.none' has no value",
    );
    expect(seen).toEqual([]);
  });

  test('in when fails the saga instead of skipping the step', async () => {
    const { outcome } = await run(withSteps(`${PUT().slice(0, -2)}, when: "input.amount > 5" }`));
    expect(outcome.failure!.error!.message).toMatch(/^saga.yaml:3:\d+: 'input.amount > 5' has no value/);
  });
});
