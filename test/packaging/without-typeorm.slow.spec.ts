import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PACKAGES } from '../../rooms.mjs';
import { packLibrary } from './pack-library.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DEPENDENCIES = [
  ...['@nestjs/common', '@nestjs/core', 'pg', 'reflect-metadata', 'rxjs'],
  ...['@types/node', '@types/pg'],
];

describe('the packed packages in a project without typeorm', () => {
  let folder: string;
  let database: TestDatabase;
  const env = () => ({ ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url });
  const install = (...tarballs: readonly string[]) =>
    run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs], { cwd: folder });
  const typeormListed = async () => {
    const listed = run('npm', ['ls', 'typeorm', '@nestjs/typeorm'], { cwd: folder });
    return (await listed.catch((error: { stdout: string }) => error)).stdout;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saga-without-typeorm-'));
    database = await createTestDatabase();
    const { filename } = await packLibrary(folder);
    const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    const dependencies = Object.fromEntries(DEPENDENCIES.map((name) => [name, devDependencies[name]]));
    const manifest = {
      ...{ private: true, type: 'module' },
      dependencies: { ...dependencies, 'nestjs-durable-saga': `file:./${filename}` },
    };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await install();
  }, 600_000);

  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  test('the core installs without it', async () => {
    expect(await typeormListed()).toContain('(empty)');
  });

  test('type-checks, all declarations included, and runs a saga over a pool of pg', async () => {
    await copyFile(join(ROOT, 'test/packaging/consumer/pg.ts'), join(folder, 'main.ts'));
    const compilerOptions = {
      ...{
        target: 'ES2023',
        module: 'NodeNext',
        types: ['node'],
        strict: true,
        rootDir: '.',
        outDir: 'dist',
      },
      ...{ experimentalDecorators: true, emitDecoratorMetadata: true, skipLibCheck: false },
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout: complaints } = await run(process.execPath, [tsc, '-p', folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(complaints).toBe('');
    const { stdout } = await run(process.execPath, [join(folder, 'dist/main.js')], { env: env() });
    expect(JSON.parse(stdout)).toEqual({ status: 'completed', reserved: ['book'] });
  }, 120_000);

  test('an application without the option database does not start: the error names what to install or to set', async () => {
    const program = `import 'reflect-metadata';
      import { Module } from '@nestjs/common';
      import { NestFactory } from '@nestjs/core';
      import { SagaModule } from 'nestjs-durable-saga';
      class App {}
      Module({ imports: [SagaModule.forRoot()] })(App);
      const starting = NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
      await starting.catch(({ code, message }) => console.log(code, message));`;
    await writeFile(join(folder, 'none.mjs'), program);
    const { stdout } = await run(process.execPath, [join(folder, 'none.mjs')], { env: env() });
    expect(stdout).toBe(
      'SAGA_CONFIGURATION SagaModule requires the package typeorm, which is not installed. Run npm install typeorm ' +
        "@nestjs/typeorm, or give forRoot({ database }) the database of your application's database layer, such as " +
        'pgDatabase(pool) of nestjs-durable-saga/pg.\n',
    );
  });

  test('migrates and operates with the command line, which brings no typeorm either', async () => {
    const edges = Object.keys(PACKAGES).filter((name) => name !== 'saga');
    const packed = await Promise.all(edges.map((name) => packLibrary(folder, name)));
    await install(...packed.map(({ tarball }) => tarball));
    expect(await typeormListed()).toContain('(empty)');
    const bin = join(folder, 'node_modules/.bin/saga');
    const { stdout } = await run(bin, ['migrate', '--schema', 'other'], { env: env() });
    expect(stdout).toContain('CreateSagaTables');
    await expect(run(bin, ['list', '--schema', 'other'], { env: env() })).resolves.toBeDefined();
  }, 300_000);
});
