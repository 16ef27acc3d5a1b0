import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { problemsIn, testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { HttpServers, tlsFile } from '../../../../test/fixtures/http-servers.js';
import { declareSaga } from '../index.js';

const servers = new HttpServers();
let seen: IncomingMessage[] = [];
const answer: RequestListener = (req, res) => {
  seen.push(req);
  res.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"r-1"}');
};
const folder = mkdtempSync(join(tmpdir(), 'declared-'));
for (const name of ['ca', 'client', 'client.key']) copyFileSync(tlsFile(name), join(folder, `${name}.pem`));

let [tlsPort, clientPort, plainPort] = [0, 0, 0];
beforeAll(async () => {
  tlsPort = await servers.https(answer);
  clientPort = await servers.https(answer, { asksForCertificate: true });
  plainPort = await servers.http(answer);
});
beforeEach(() => (seen = []));
afterAll(() => {
  servers.close();
  rmSync(folder, { recursive: true });
});

type Environment = Record<string, string | undefined>;
async function run(text: string, environment: Environment = {}) {
  const saga = await declareSaga(text, { environment, file: join(folder, 'saga.yaml') });
  return testOf(saga).run({});
}
const get = (url: string, more = '') => withSteps(`get: { http: { url: "${url}"${more} } }`);
const messageOf = ({ outcome }: Awaited<ReturnType<typeof run>>) => outcome.failure?.error?.message;

describe('a request over TLS', () => {
  test('trusts the authority of the file', async () => {
    const { outcome } = await run(get(`https://localhost:${tlsPort}/`, ', tls: { ca: ca.pem }'));
    expect(outcome).toMatchObject({ status: 'completed', results: { get: { id: 'r-1' } } });
  });

  test('is not sent to a server of another authority, and is retried: its certificate may be renewed', async () => {
    const made = await run(get(`https://localhost:${tlsPort}/`));
    expect(made.outcome.failure?.error?.code).toBe('SAGA_STEP_CALL');
    expect(made.calls).toHaveLength(3);
    expect(seen).toEqual([]);
  });

  test('is not sent to a server with a certificate of another name', async () => {
    const port = await servers.https(answer, { certificate: 'client' });
    const made = await run(get(`https://localhost:${port}/`, ', tls: { ca: ca.pem }'));
    expect(made.outcome.failure?.error).toMatchObject({
      code: 'SAGA_STEP_CALL',
      message: expect.stringMatching(/altnames|purpose/),
    });
    expect(seen).toEqual([]);
  });

  test('shows the certificate of the file', async () => {
    const tls = ', tls: { ca: ca.pem, cert: client.pem, key: client.key.pem }';
    await run(get(`https://localhost:${clientPort}/`, tls));
    expect((seen[0]!.socket as TLSSocket).getPeerCertificate().subject.CN).toBe('test-client');
  });

  test('without a certificate that the server asks for is not handled', async () => {
    const { outcome } = await run(get(`https://localhost:${clientPort}/`, ', tls: { ca: ca.pem }'));
    expect(outcome.status).toBe('compensated');
    expect(seen).toEqual([]);
  });

  test('takes the certificate from secrets, as a text, and its path from a variable', async () => {
    const tls = ', tls: { ca: "{{ env.CA }}", cert: client.pem, key: "{{ secrets.key }}" }';
    const text = `secrets: { key: client.key.pem }\n${get(`https://localhost:${clientPort}/`, tls)}`;
    expect((await run(text, { CA: join(folder, 'ca.pem') })).outcome.status).toBe('completed');
  });

  test('uses a certificate that was renewed between two requests', async () => {
    const at = join(folder, 'renewed.pem');
    writeFileSync(at, 'old');
    const saga = await declareSaga(get(`https://localhost:${tlsPort}/`, ', tls: { ca: renewed.pem }'), {
      file: join(folder, 'saga.yaml'),
    });
    expect((await testOf(saga).run({})).outcome.failure?.error?.code).toBe('SAGA_STEP_CALL');
    copyFileSync(tlsFile('ca'), at);
    expect((await testOf(saga).run({})).outcome.status).toBe('completed');
  });

  test('with a file that was removed is retried, and the error does not show the path of a variable', async () => {
    const made = await run(get('https://localhost:1/', ', tls: { ca: "{{ env.CA }}" }'), { CA: '/none/ca' });
    expect(messageOf(made)).toMatch(
      /^GET https:\/\/localhost:1\/: the file of tls.ca cannot be read: ENOENT.*\*\*\*/,
    );
    expect(made.calls).toHaveLength(3);
  });

  test('with a broken key shows no part of it', async () => {
    writeFileSync(
      join(folder, 'broken'),
      '-----BEGIN PRIVATE KEY-----\nbm90LWEta2V5\n-----END PRIVATE KEY-----',
    );
    const tls = ', tls: { ca: ca.pem, cert: client.pem, key: "{{ secrets.key }}" }';
    const made = await run(`secrets: { key: broken }\n${get(`https://localhost:${clientPort}/`, tls)}`);
    expect(made.outcome.failure?.error?.code).toBe('SAGA_STEP_CALL');
    expect(JSON.stringify(made.snapshot)).not.toContain('bm90LWEta2V5');
  });

  test('has a certificate only with its key, and files that exist', async () => {
    const text = get('https://localhost/', ', tls: { ca: none.pem, cert: client.pem }');
    const problems = await problemsIn(text);
    expect(problems).toEqual([
      expect.stringMatching(/^3:\d+: tls has only one of cert and key; give both, or none/),
    ]);
    const missing = await problemsIn(get('https://localhost/', ', tls: { ca: none.pem }'), {
      checkEnvironment: true,
    });
    expect(missing).toEqual([expect.stringMatching(/^3:\d+: the file of tls.ca cannot be read; create it/)]);
  });

  test('has no value of the saga in its certificates', async () => {
    expect(await problemsIn(get('https://localhost/', ', tls: { ca: "{{ input.ca }}" }'))).toEqual([
      expect.stringContaining("unknown name 'input' in the expression"),
    ]);
  });
});

describe('a proxy', () => {
  test('of the file tunnels the request, with its credentials', async () => {
    const log: string[] = [];
    const proxy = `http://ann:{{ env.PASSWORD }}@127.0.0.1:${await servers.proxy(log)}`;
    const tls = `, tls: { ca: ca.pem }, proxy: "${proxy}"`;
    const { outcome } = await run(get(`https://localhost:${tlsPort}/`, tls), { PASSWORD: 'open-sesame' });
    expect(outcome.status).toBe('completed');
    const credentials = Buffer.from('ann:open-sesame').toString('base64');
    expect(log).toEqual([`CONNECT localhost:${tlsPort} Basic ${credentials}`]);
  });

  test.each(['HTTP_PROXY', 'http_proxy'])('of the variable %s is used', async (name) => {
    const log: string[] = [];
    const environment = { [name]: `http://127.0.0.1:${await servers.proxy(log)}` };
    expect((await run(get(`http://127.0.0.1:${plainPort}/`), environment)).outcome.status).toBe('completed');
    expect(log).toEqual([`CONNECT 127.0.0.1:${plainPort}`]);
  });

  test('of HTTPS_PROXY is for https only', async () => {
    const log: string[] = [];
    const HTTPS_PROXY = `http://127.0.0.1:${await servers.proxy(log)}`;
    await run(get(`http://127.0.0.1:${plainPort}/`), { HTTPS_PROXY });
    expect(log).toEqual([]);
    await run(get(`https://localhost:${tlsPort}/`, ', tls: { ca: ca.pem }'), { HTTPS_PROXY });
    expect(log).toEqual([`CONNECT localhost:${tlsPort}`]);
    expect(seen).toHaveLength(2);
  });

  test('is not used for the hosts of NO_PROXY', async () => {
    const log: string[] = [];
    const HTTP_PROXY = `http://127.0.0.1:${await servers.proxy(log)}`;
    await run(get(`http://127.0.0.1:${plainPort}/`), { HTTP_PROXY, NO_PROXY: 'other.example,127.0.0.1' });
    expect([log, seen.length]).toEqual([[], 1]);
  });

  test('that refuses, or does not answer, is no effect: the step is retried', async () => {
    const log: string[] = [];
    const refusing = await servers.proxy(log, 407);
    const made = await run(
      get('http://stock.example/', `, proxy: "http://a:secret-word@127.0.0.1:${refusing}"`),
    );
    expect(made.outcome.failure?.error?.code).toBe('SAGA_STEP_CALL');
    expect(messageOf(made)).toContain('Proxy response (407)');
    expect([made.calls.length, log.length]).toEqual([3, 3]);
    const gone = await run(get('http://stock.example/', ', proxy: "http://127.0.0.1:1"'));
    expect(gone.outcome.failure?.error?.code).toBe('SAGA_STEP_CALL');
  });

  test('with an invalid URL rejects the step, and does not show the value', async () => {
    const made = await run(get('http://stock.example/', ', proxy: "{{ env.PROXY }}"'), {
      PROXY: 'ftp://hidden',
    });
    expect(messageOf(made)).toBe(
      'The proxy of GET http://stock.example/ is not a URL that begins with http:// or https://',
    );
  });
});

describe('the trace of the active span', () => {
  const SPAN = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
  /** As SagaTelemetryModule sets it around a method. */
  let active = ROOT_CONTEXT;
  class AroundMethods extends AsyncLocalStorageContextManager {
    override active = () => active;
  }
  beforeAll(() => {
    context.setGlobalContextManager(new AroundMethods().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  });
  afterAll(() => {
    context.disable();
    propagation.disable();
  });
  const traced = async (text: string) => {
    active = trace.setSpanContext(ROOT_CONTEXT, SPAN);
    await run(text);
    active = ROOT_CONTEXT;
  };

  test('goes on with the request', async () => {
    await traced(get(`http://127.0.0.1:${plainPort}/`));
    expect(seen[0]!.headers.traceparent).toBe(`00-${SPAN.traceId}-${SPAN.spanId}-01`);
  });

  test('is not sent without a span, or if the file has another one', async () => {
    await run(get(`http://127.0.0.1:${plainPort}/`));
    await traced(get(`http://127.0.0.1:${plainPort}/`, ', headers: { Traceparent: own }'));
    expect(seen.map(({ headers }) => headers.traceparent)).toEqual([undefined, 'own']);
  });

  test('is left to an instrumentation of undici, which would send it twice', async () => {
    const instrument = (message: unknown) =>
      (message as { request: { addHeader(name: string, value: string): void } }).request.addHeader(
        'traceparent',
        'of-the-instrumentation',
      );
    subscribe('undici:request:create', instrument);
    await traced(get(`http://127.0.0.1:${plainPort}/`));
    unsubscribe('undici:request:create', instrument);
    expect(seen[0]!.headers.traceparent).toBe('of-the-instrumentation');
  });
});

describe('a response', () => {
  test('that rejects with a body of any size rejects: only its beginning is read', async () => {
    let sent = 0;
    const port = await servers.http((_, res) => {
      res.writeHead(409);
      const more = (): void => {
        while (!res.destroyed && sent < 50_000_000) {
          sent += 65_536;
          if (!res.write('x'.repeat(65_536))) return void res.once('drain', more);
        }
        res.end();
      };
      more();
    });
    const made = await run(get(`http://127.0.0.1:${port}/`));
    expect(made.outcome.failure).toMatchObject({ kind: 'rejected', error: { code: 'SAGA_STEP_REJECTED' } });
    expect(messageOf(made)).toHaveLength(`GET http://127.0.0.1:${port}/ answered 409: …`.length + 300);
    expect(sent).toBeLessThan(50_000_000);
  });

  test('with a redirect rejects, and nothing is sent to the other place', async () => {
    const port = await servers.http((_, res) => {
      res.writeHead(307, { location: `http://127.0.0.1:${plainPort}/` }).end();
    });
    const made = await run(get(`http://127.0.0.1:${port}/`));
    expect(made.outcome.failure?.kind).toBe('rejected');
    expect(seen).toEqual([]);
  });

  test('comes from a URL without a user name, which would be part of errors', async () => {
    const made = await run(get('http://ann:secret@localhost/'));
    expect(messageOf(made)).toContain('has a user name or a password. Set the header authorization instead');
  });
});
