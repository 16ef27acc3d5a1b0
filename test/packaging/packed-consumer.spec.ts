import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packPackages } from '../compatibility/installation.mjs';
import { type EmbeddedServer, startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript-7/bin/tsc');
/** The packages of two database layers. */
const OF_ENTRIES = ['kysely', '@mikro-orm/core', '@mikro-orm/postgresql'];
const PEERS = [
  ...['@nestjs/common', '@nestjs/core', '@nestjs/schedule', '@nestjs/typeorm'],
  ...['pg', 'reflect-metadata', 'typeorm'],
];
/** The oldest TypeScript of docs/compatibility.md. */
const TYPESCRIPT = '5.8.2';
const SETTINGS = {
  ...{ target: 'ES2023', module: 'NodeNext', types: ['node'], strict: true },
  ...{ experimentalDecorators: true, emitDecoratorMetadata: true, rootDir: '.', outDir: 'dist' },
};

describe('the packed tarball, installed in a project of its own', () => {
  let folder: string;
  /** The folder of the scenes. */
  let project: string;
  let database: TestDatabase;
  let primary: EmbeddedServer;
  let standby: EmbeddedServer;
  const env = () => ({ ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saga-consumer-'));
    database = await createTestDatabase();
    const packages = await packPackages(folder);
    const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    const needed = [...PEERS, ...OF_ENTRIES, 'rxjs', '@types/node', '@types/pg'].map((name) => [
      name,
      devDependencies[name],
    ]);
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({
        private: true,
        dependencies: {
          ...Object.fromEntries(needed),
          ...{ typescript: TYPESCRIPT, ...packages },
        },
      }),
    );
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
    primary = await startEmbeddedPostgres();
    standby = await primary.startStandby();
    project = join(folder, 'scenes');
    await cp(join(ROOT, 'test/packaging/consumer/scenes'), project, { recursive: true });
    await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  }, 600_000);

  afterAll(async () => {
    await Promise.all([database.drop(), standby?.stop()]);
    await primary?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test.each(['module', 'commonjs'])(
    'type-checks and runs a saga as %s, with SagaModule.forRoot() and nothing else configured',
    async (type) => {
      const project = join(folder, type);
      await mkdir(project);
      await copyFile(join(ROOT, 'test/packaging/consumer/main.ts'), join(project, 'main.ts'));
      await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type }));
      await writeFile(
        join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: SETTINGS, files: ['main.ts'] }),
      );
      // With older compilers, the rows of test/compatibility check the declarations.
      await run(process.execPath, [TSC, '-p', project]);
      const emitted = await readFile(join(project, 'dist/main.js'), 'utf8');
      expect(emitted.includes('require("nestjs-durable-saga")')).toBe(type === 'commonjs');
      const { stdout } = await run(process.execPath, [join(project, 'dist/main.js')], {
        env: env(),
      });
      expect(JSON.parse(stdout)).toEqual({ status: 'completed', confirm: 'confirmed book' });
    },
    120_000,
  );

  test.each([
    [
      'has schedules, times, progress, limits and operators’ calls as documented, also for the oldest TypeScript',
      ...['features', 'typescript/bin/tsc'],
    ],
    [
      'keeps its promises where features meet, and with a database, a daemon or a tool that interferes',
      ...['combinations', TSC],
    ],
  ])(
    '%s',
    async (_, scenes, compiler) => {
      const config = join(project, `tsconfig.${scenes}.json`);
      await writeFile(config, JSON.stringify({ compilerOptions: SETTINGS, include: [scenes] }));
      const tsc = resolve(folder, 'node_modules', compiler);
      const { stdout: complaints } = await run(process.execPath, [tsc, '-p', config]).catch(
        (error: { stdout: string }) => error,
      );
      expect(complaints).toBe('');
      const { stdout } = await run(process.execPath, [join(project, 'dist', scenes, 'main.js')], {
        cwd: folder,
        env: { ...env(), PRIMARY_URL: primary.url, STANDBY_URL: standby.url },
      });
      const outcomes = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, string>;
      expect(Object.values(outcomes)).toEqual(Object.keys(outcomes).map(() => 'as documented'));
    },
    300_000,
  );

  test('has the command line, which finds the sagas of the project', async () => {
    const file = join(folder, 'sagas.mjs');
    const saga = `import { Saga, Step } from 'nestjs-durable-saga';
      export class Order { act() {} }
      Step()(Order.prototype, 'act', {});
      Saga()(Order);`;
    await writeFile(file, saga);
    const bin = join(folder, 'node_modules/.bin/saga');
    const { stdout } = await run(bin, ['graph', 'diff', file], { env: env() });
    expect(stdout).toMatch(/no instance is affected|order@1 {2}new/);
  });
});
