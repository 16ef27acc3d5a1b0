import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packLibrary } from './pack-library.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The packages of declared sagas and of Kysely. */
const OF_ENTRIES = ['ajv', 'jsonata', 'kysely', 'undici', 'yaml'];
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
  let database: TestDatabase;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saga-consumer-'));
    database = await createTestDatabase();
    const { filename } = await packLibrary(folder);
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
          ...{ typescript: TYPESCRIPT, 'nestjs-durable-saga': `file:./${filename}` },
        },
      }),
    );
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
  }, 600_000);

  afterAll(async () => {
    await database.drop();
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
      await run(process.execPath, [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-p', project]);
      const emitted = await readFile(join(project, 'dist/main.js'), 'utf8');
      expect(emitted.includes('require("nestjs-durable-saga")')).toBe(type === 'commonjs');
      const { stdout } = await run(process.execPath, [join(project, 'dist/main.js')], {
        env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url },
      });
      expect(JSON.parse(stdout)).toEqual({ status: 'completed', confirm: 'confirmed book' });
    },
    120_000,
  );

  test('has schedules, times, progress, limits and operators’ calls as documented, also for the oldest TypeScript', async () => {
    const project = join(folder, 'features');
    await cp(join(ROOT, 'test/packaging/consumer/features'), project, { recursive: true });
    await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: SETTINGS }));
    const tsc = join(folder, 'node_modules/typescript/bin/tsc');
    const { stdout: complaints } = await run(process.execPath, [tsc, '-p', project]).catch(
      (error: { stdout: string }) => error,
    );
    expect(complaints).toBe('');
    const { stdout } = await run(process.execPath, [join(project, 'dist/main.js')], {
      env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url },
    });
    const scenes = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, string>;
    expect(Object.values(scenes)).toEqual(Object.keys(scenes).map(() => 'as documented'));
  }, 180_000);

  test('keeps its promises where features meet: waits and operators, codecs and errors, versions and limits', async () => {
    const project = join(folder, 'combinations');
    await cp(join(ROOT, 'test/packaging/consumer/combinations'), project, { recursive: true });
    await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: SETTINGS }));
    const tsc = join(folder, 'node_modules/typescript/bin/tsc');
    const { stdout: complaints } = await run(process.execPath, [tsc, '-p', project]).catch(
      (error: { stdout: string }) => error,
    );
    expect(complaints).toBe('');
    const { stdout } = await run(process.execPath, [join(project, 'dist/main.js')], {
      env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url },
    });
    const scenes = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, string>;
    expect(Object.values(scenes)).toEqual(Object.keys(scenes).map(() => 'as documented'));
  }, 300_000);

  test('has the command line, which finds the sagas of the project', async () => {
    const file = join(folder, 'sagas.mjs');
    const saga = `import { Saga, Step } from 'nestjs-durable-saga';
      export class Order { act() {} }
      Step()(Order.prototype, 'act', {});
      Saga()(Order);`;
    await writeFile(file, saga);
    const bin = join(folder, 'node_modules/.bin/saga');
    const { stdout } = await run(bin, ['graph', 'diff', file], {
      env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url },
    });
    expect(stdout).toMatch(/no instance is affected|order@1 {2}new/);
  });
});
