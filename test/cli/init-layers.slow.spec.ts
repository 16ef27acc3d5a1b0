import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { untilListening } from '../support/until-listening.mjs';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { until } from '../support/gate.js';
import { type Files, NEST_12, type NestAppFolder, NestApps } from './support/nest-apps.js';
import { saga } from './support/saga-bin.js';

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const DATABASE_MODULE = 'src/database/database.module.ts';
const apps = NestApps.make();

const init = (app: NestAppFolder, ...args: string[]) => saga(['init', ...args], { cwd: app.path });

/** The layers: the option, the package, the adapter, what has to be installed, and for development. */
const LAYERS = [
  ['drizzle', 'drizzle-orm', 'drizzleDatabase(db)', ' drizzle-orm@^0.45', '@types/pg '],
  ['kysely', 'kysely', 'kyselyDatabase(db, pool)', ' kysely@^0.29', '@types/pg '],
  ['knex', 'knex', 'knexDatabase(db)', ' knex@^3.', ''],
  ['mikro-orm', '@mikro-orm/nestjs', 'mikroOrmDatabase(db)', ' @mikro-orm/postgresql@^6.', '@types/pg '],
  ['prisma', '@prisma/client', 'prismaDatabase(db)', ' @prisma/adapter-pg@^7.', 'prisma@7 @types/pg '],
  ['pg', 'pg', 'pgDatabase(db)', ' pg@^8.', '@types/pg '],
] as const;

function withDependency(files: Files, ...names: string[]): Files {
  const json = JSON.parse(files['package.json']!) as { dependencies: object };
  const dependencies = { ...json.dependencies, ...Object.fromEntries(names.map((name) => [name, '*'])) };
  return { ...files, 'package.json': JSON.stringify({ ...json, dependencies }) };
}

/** Compiles the files of a folder, and emits them to dist. */
async function compile(app: NestAppFolder): Promise<void> {
  const tsc = join(MODULES, 'typescript/bin/tsc');
  const options = { cwd: app.path, env: { ...process.env, NODE_OPTIONS: '' } };
  const { stdout } = await run(
    process.execPath,
    [tsc, '-p', '.', '--ignoreDeprecations', '6.0'],
    options,
  ).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
}

describe('saga init', () => {
  test.each(LAYERS)('connects %s, which package.json has, and no TypeORM', async (_, name, adapter) => {
    const app = await apps.create(withDependency(NEST_12, name));
    const { code, out, error } = await init(app);
    expect([code, error]).toEqual([0, '']);
    expect(await app.read(DATABASE_MODULE)).toContain(`=> ${adapter}`);
    expect(await app.read('src/app.module.ts')).toMatch(
      /SagaModule\.forRootAsync\(\{\n {6}imports: \[DatabaseModule\],\n {6}inject: \[SAGA_DATABASE\],\n[^]*OrdersModule,/,
    );
    expect(Object.values(await app.files()).join('') + out).not.toMatch(/typeorm/i);
  });

  test.each(LAYERS)('--orm %s names what to install, and no TypeORM', async (layer, _, __, packages, dev) => {
    const app = await apps.create(NEST_12);
    const { out } = await init(app, '--orm', layer, '--postgres', '--dry-run');
    expect(out).toMatch(/^ {2}npm install nestjs-durable-saga .*/m);
    expect(out).toContain(packages);
    expect(out).toMatch(new RegExp(`install -D ${dev}nestjs-durable-saga-cli$`, 'm'));
    expect(/^ {2}npx prisma generate$/m.test(out)).toBe(layer === 'prisma');
    expect(out).not.toMatch(/typeorm/i);
  });

  test('called again changes nothing, whether the packages are in package.json or not', async () => {
    const app = await apps.create(NEST_12);
    await init(app, '--orm', 'drizzle');
    const before = await app.files();
    const installed = withDependency(before, 'drizzle-orm');
    for (const [files, ...args] of [[before], [before, '--orm', 'drizzle'], [installed]] as const) {
      await app.write('package.json', files['package.json']!);
      const { out, code } = await init(app, ...args);
      expect([code, await app.files()]).toEqual([0, files]);
      expect(out).not.toMatch(/^ {2}(created|edited|to do)/m);
    }
  }, 60_000);

  test('adds no second pool beside the connections that the sources open, and prints how to give them', async () => {
    const own = `import { drizzle } from 'drizzle-orm/node-postgres';\nexport const db = drizzle(process.env.DATABASE_URL!);\n`;
    const app = await apps.create({ ...withDependency(NEST_12, 'drizzle-orm'), 'src/db.ts': own });
    const { code, out } = await init(app);
    expect(code).toBe(0);
    expect(await app.files()).not.toHaveProperty([DATABASE_MODULE]);
    expect(out).toMatch(/to do .*SagaModule was left out: the sources connect Drizzle/);
    expect(out).toMatch(
      /import \{ drizzleDatabase \} from 'nestjs-durable-saga\/drizzle';\n {2}SagaModule\.forRootAsync\(\{/,
    );
    expect(out).toContain('useFactory: (db) => ({ database: drizzleDatabase(db) })');
  });

  test('asks for the layer if package.json has several', async () => {
    const files = withDependency(NEST_12, 'kysely', 'knex');
    const app = await apps.create(files);
    const { code, error } = await init(app);
    expect([code, await app.files()]).toEqual([2, files]);
    expect(error).toMatch(/^saga: USAGE: .*--orm kysely or --orm knex/);
  });
});

/** Generates the client of the schema that `saga init` has written. The download of an engine is left out. */
async function generatePrisma(app: NestAppFolder): Promise<void> {
  const cli = join(MODULES, 'prisma/build/index.js');
  const env = { ...process.env, NODE_OPTIONS: '', PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  await run(process.execPath, [cli, 'generate'], { cwd: app.path, env });
}

/** One project with the sources that `saga init` writes for each layer, in both formats. */
async function writtenForAll(): Promise<Files> {
  const files: Record<string, string> = {
    'package.json': JSON.stringify({ type: 'module' }),
    'commonjs/package.json': JSON.stringify({ type: 'commonjs' }),
    'tsconfig.json': NEST_12['tsconfig.json']!,
  };
  for (const [layer] of LAYERS) {
    const app = await apps.create(NEST_12);
    expect((await init(app, '--orm', layer)).code).toBe(0);
    if (layer === 'prisma') await generatePrisma(app);
    for (const [path, text] of Object.entries(await app.files()).filter(([name]) =>
      name.startsWith('src/'),
    )) {
      files[`module/${layer}/${path}`] = text;
      // Prisma generates a client of one format.
      if (layer === 'prisma') continue;
      // Imports have extensions in both formats. Top-level await is for ES modules alone.
      files[`commonjs/${layer}/${path}`] = text.replace('await bootstrap()', 'void bootstrap()');
    }
  }
  return files;
}

/** Loads the modules that connect the layers, as Node finds their imports in either format. */
async function loadAll(app: NestAppFolder): Promise<void> {
  const folders = ['module', 'commonjs']
    .flatMap((type) => LAYERS.map(([layer]) => `${type}/${layer}`))
    .filter((folder) => folder !== 'commonjs/prisma');
  const imports = folders.map((folder) => `import './dist/${folder}/src/database/database.module.js';`);
  await app.write('dist/commonjs/package.json', JSON.stringify({ type: 'commonjs' }));
  await app.write('load-all.mjs', imports.join('\n'));
  const options = { cwd: app.path, env: { ...process.env, NODE_OPTIONS: '' } };
  await run(process.execPath, ['load-all.mjs'], options);
}

describe('what saga init has written', () => {
  let database: TestDatabase;
  const children: ChildProcess[] = [];

  beforeAll(async () => (database = await createTestDatabase()));
  afterAll(async () => {
    children.forEach((child) => child.kill('SIGKILL'));
    await database.drop();
  });

  /** Starts the application, and resolves once it answers. */
  async function start(app: NestAppFolder, port: number) {
    const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url, PORT: String(port) };
    const child = spawn(process.execPath, ['dist/module/drizzle/src/main.js'], { cwd: app.path, env });
    children.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (output += text.toString()));
    const said = (words: string) =>
      until(() => {
        if (child.exitCode !== null) throw new Error(`The application ended:\n${output}`);
        return output.includes(words);
      });
    await said('successfully started');
    await untilListening(port);
    const end = async (signal: NodeJS.Signals) => {
      const ended = once(child, 'exit');
      child.kill(signal);
      return (await ended) as [number | null, NodeJS.Signals | null];
    };
    return { said, end, output: () => output };
  }

  test('compiles for every layer, as ES module and as CommonJS; with Drizzle, an order survives kill -9 in the middle of a step, and SIGTERM ends the process', async () => {
    const app = await apps.create(await writtenForAll());
    await compile(app);
    await loadAll(app);
    const port = await freePort();
    const orders = `http://127.0.0.1:${port}/orders`;
    const first = await start(app, port);
    const place = async (order: object) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch(orders, { method: 'POST', headers, body: JSON.stringify(order) })).status;
    };
    expect(await place({})).toBe(400);
    expect(await place({ orderId: 'order-1', sku: 'cup', amount: 20 })).toBe(201);
    await first.said('charge 20');
    await first.end('SIGKILL');
    // As if the time of its lease had passed.
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('UPDATE saga.instance SET due_at = now(), rank_at = now()');
    await client.end();
    const second = await start(app, port);
    await until(async () => {
      const { status } = (await (await fetch(`${orders}/order-1`)).json()) as { status: string };
      return status === 'completed';
    });
    expect(second.output()).not.toContain('reserve cup');
    expect(await second.end('SIGTERM')).toEqual([null, 'SIGTERM']);
  }, 120_000);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
