import { testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { HttpServers } from '../../../../test/fixtures/http-servers.js';
import { declareSaga } from '../index.js';
import { kindOfAddress } from './address-kind.js';
import { lookupWithin, Network, type NetworkOptions } from './network.js';

const servers = new HttpServers();
let [requests, port] = [0, 0];
beforeAll(async () => {
  port = await servers.http((_, res) => {
    requests += 1;
    res.end('done');
  });
});
beforeEach(() => (requests = 0));
afterAll(() => servers.close());

async function run(
  url: string,
  network?: NetworkOptions,
  environment: Record<string, string> = {},
  more = '',
) {
  const text = withSteps(`get: { http: { url: "${url}"${more} } }`);
  const saga = await declareSaga(text, { network, environment });
  const { outcome, calls } = await testOf(saga).run({});
  return { outcome, calls, error: outcome.failure?.error };
}

describe('an address is', () => {
  test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001::5'])(
    'public: %s',
    (one) => {
      expect(kindOfAddress(one)).toBe('public');
    },
  );
  test.each([
    ...[
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '127.0.0.1',
      '127.9.9.9',
      '172.16.0.1',
      '192.168.1.1',
      '198.18.0.1',
    ],
    ...['224.0.0.1', '255.255.255.255', '::', '::1', 'fc00::1', 'fd12:3456::1', 'ff02::1', '::ffff:10.0.0.1'],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '64:ff9b::7f00:1', '2002:7f00:1::', '2001::1', '::127.0.0.1'],
  ])('private: %s', (one) => expect(kindOfAddress(one)).toBe('private'));
  test.each([
    ...['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'fe80::1'],
    ...['fd00:ec2::254', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '64:ff9b::a9fe:a9fe'],
  ])('of a metadata service: %s', (one) => expect(kindOfAddress(one)).toBe('link-local'));
});

describe('without the option', () => {
  test('all hosts are allowed', async () => {
    expect((await run(`http://127.0.0.1:${port}/`)).outcome.status).toBe('completed');
  });
});

describe('private addresses', () => {
  const REFUSED = ['127.0.0.1', '0x7f.1', '2130706433', '127.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost'];

  test.each(REFUSED)('are refused: %s, without a retry', async (host) => {
    const { outcome, error, calls } = await run(`http://${host}:${port}/`, {});
    expect(outcome).toMatchObject({ status: 'compensated', failure: { kind: 'rejected' } });
    expect(error?.message).toMatch(
      /^GET http:.* has a private address. Add the host to allowHosts, or set allowPriv/,
    );
    expect([calls.length, requests]).toEqual([1, 0]);
  });

  test.each(REFUSED)('are allowed by allowPrivate: %s', async (host) => {
    const reach = Network.of({ allowPrivate: true }).reachOf(new URL(`http://${host}/`));
    expect(['all', 'private']).toContain(reach);
  });

  test('are allowed if the host is listed', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const { outcome } = await run(`http://${host}:${port}/`, { allowHosts: [host] });
      expect(outcome.status).toBe('completed');
    }
    expect(requests).toBe(2);
  });

  test('of a compensation and of a probe are refused, too', async () => {
    const text = withSteps(
      `put: { exec: { command: [echo, done] }, compensate: { http: { url: "http://127.0.0.1:${port}/" } }, compensationRetry: { attempts: 3 } }`,
      'fail: { exec: { command: [sh, -c, "exit 9"], reject: [9] } }',
    );
    const { outcome, calls } = await testOf(await declareSaga(text, { network: {} })).run({});
    expect(outcome.status).toBe('stuck');
    expect(calls.filter(({ method }) => method === 'put.compensate')).toHaveLength(1);
    expect(requests).toBe(0);
  });

  test('of the metadata services stay refused for names, and with allowPrivate', async () => {
    const { error } = await run('http://169.254.169.254/latest', { allowPrivate: true });
    expect(error?.message).toMatch(
      /has a link-local address. Only a request to the address itself can reach it/,
    );
    const reach = (allowHosts: string[], url: string) => Network.of({ allowHosts }).reachOf(new URL(url));
    expect(reach(['metadata.internal'], 'http://metadata.internal/')).toBe('private');
    expect(reach(['169.254.169.254'], 'http://169.254.169.254/')).toBe('all');
  });

  test('are refused when the name is resolved for the connection: an answer before does not count', async () => {
    const resolve = lookupWithin('public')!;
    const answered = (options: object) =>
      new Promise((done) =>
        resolve('localhost', options, (error, address) => done(error?.message ?? address)),
      );
    for (const options of [{ all: true }, { all: false }, { family: 4 }])
      expect(await answered(options)).toMatch(/^the host localhost has a private address/);
    const allowed = lookupWithin('private')!;
    const address = await new Promise((done) => allowed('localhost', { family: 4 }, (_, one) => done(one)));
    expect(address).toBe('127.0.0.1');
  });
});

describe('a host that is not listed', () => {
  test('is refused, without a request or a retry', async () => {
    const { outcome, error, calls } = await run(`http://127.0.0.1:${port}/`, {
      allowHosts: ['stock.example'],
    });
    expect(outcome.failure?.kind).toBe('rejected');
    expect(error?.message).toBe(
      `GET http://127.0.0.1:${port}/: the host 127.0.0.1 is not in allowHosts. Add it, or correct the URL`,
    );
    expect([calls.length, requests]).toEqual([1, 0]);
  });

  test('is named, and nothing else of a URL that comes from a variable', async () => {
    const URL = 'http://a.example/token-123';
    const { error } = await run('{{ env.URL }}/', { allowHosts: [] }, { URL });
    expect(error?.message).toBe(
      'GET {{ env.URL }}/: the host a.example is not in allowHosts. Add it, or correct the URL',
    );
  });

  test.each([
    ['stock.example', 'http://stock.example:8080/', true],
    ['Stock.Example', 'https://STOCK.example./', true],
    ['stock.example', 'http://evil.stock.example/', false],
    ['stock.example', 'http://stock.example.evil/', false],
    ['*.example.com', 'https://a.b.example.com/', true],
    ['*.example.com', 'https://example.com/', false],
    ['*.example.com', 'https://evilexample.com/', false],
    ['stock.example:443', 'https://stock.example/', true],
    ['stock.example:443', 'http://stock.example/', false],
    ['stock.example:80', 'http://stock.example/', true],
    ['10.0.0.5', 'http://10.0.0.5:9000/', true],
    ['10.0.0.5', 'http://0xa000005/', true],
    ['::1', 'http://[::1]:80/', true],
    ['[fd00::1]:8443', 'https://[fd00:0::1]:8443/', true],
    ['bücher.example', 'https://xn--bcher-kva.example/', true],
  ])('is found: %s for %s: %s', (pattern, url, isListed) => {
    const reach = () => Network.of({ allowHosts: [pattern] }).reachOf(new URL(url));
    if (isListed) expect(reach()).toMatch(/all|private/);
    else expect(reach).toThrow('is not in allowHosts');
  });

  test.each([
    '',
    ' ',
    'http://stock.example',
    'stock.example/path',
    'a@b',
    '*',
    '*.',
    'a:99999',
    '10.0.0.0/8',
    5,
  ])('is no pattern: %p', (pattern) => {
    expect(() => Network.of({ allowHosts: [pattern as string] })).toThrow('which is no host');
  });
});

test('unknown options are refused by name, and others by their type', async () => {
  const of = (network: object) => () => declareSaga('saga: x', { network });
  await expect(of({ allowHost: [] })).rejects.toThrow(
    "unknown option 'network.allowHost'. Did you mean 'network.allowHosts'?",
  );
  await expect(of({ allowHosts: 'a' })).rejects.toThrow("network.allowHosts is 'a'; give a list of hosts");
  await expect(of({ allowPrivate: 'yes' })).rejects.toThrow(
    "network.allowPrivate is 'yes'; give true or false",
  );
});

describe('a proxy', () => {
  test('of the environment gets only hosts that are listed: it resolves them itself', async () => {
    const log: string[] = [];
    const HTTP_PROXY = `http://127.0.0.1:${await servers.proxy(log)}`;
    const { error, calls } = await run('http://public.example/', {}, { HTTP_PROXY });
    expect(error?.message).toMatch(
      /its proxy would resolve the host, to any address. Add the host to allowHosts/,
    );
    expect([calls.length, log]).toEqual([1, []]);
    await run(`http://127.0.0.1:${port}/`, { allowHosts: ['127.0.0.1'] }, { HTTP_PROXY });
    expect([log, requests]).toEqual([[`CONNECT 127.0.0.1:${port}`], 1]);
  });

  test('of a file is a host that has to be allowed, too', async () => {
    const log: string[] = [];
    const proxyPort = await servers.proxy(log);
    const proxy = `, proxy: "http://localhost:${proxyPort}"`;
    const hosts = ['127.0.0.1'];
    const { error } = await run(`http://127.0.0.1:${port}/`, { allowHosts: hosts }, {}, proxy);
    expect(error?.message).toContain('the host localhost is not in allowHosts');
    const { outcome } = await run(
      `http://127.0.0.1:${port}/`,
      { allowHosts: [...hosts, 'localhost'] },
      {},
      proxy,
    );
    expect(outcome.status).toBe('completed');
    expect(log).toHaveLength(1);
    const public8 = await run('http://8.8.8.8/', {}, {}, proxy);
    expect(public8.error?.message).toContain('the host localhost has a private address');
  });
});
