import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../libs/cli/src/postgres/free-port.js';
import { RequestBalancer } from '../../libs/demo-support/src/restate/request-balancer.js';
import { RestateServer, restateProgram } from '../../libs/demo-support/src/restate/restate-server.js';
import { packPackages } from '../compatibility/installation.mjs';
import { createTestDatabase } from '../support/test-database.js';
import { packLibrary } from './pack-library.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript-7/bin/tsc');
const RESOLVERS = new URL('../support/with-resolvers.mjs', import.meta.url).href;
const NEEDED = [
  ...['@nestjs/common', '@nestjs/core', '@nestjs/schedule', '@nestjs/typeorm', 'pg', 'reflect-metadata'],
  ...['rxjs', 'typeorm', '@types/node', '@types/pg'],
];
const SETTINGS = {
  ...{ target: 'ES2023', module: 'NodeNext', types: ['node'], strict: true },
  ...{ experimentalDecorators: true, emitDecoratorMetadata: true, rootDir: '.', outDir: 'dist' },
};
/** The applications that a program opens. */
const APPLICATIONS = 6;
const PROGRAMS = ['graph', 'features'];
const program = restateProgram();

describe('one program, by the documentation alone, with the packed packages', () => {
  let folder: string;
  let scenes: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saga-engines-'));
    scenes = join(folder, 'scenes');
    const packages = await packPackages(folder);
    const restate = await packLibrary(folder, 'restate');
    const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    const dependencies = {
      ...Object.fromEntries(NEEDED.map((name) => [name, devDependencies[name]])),
      ...packages,
      [restate.name]: `file:${restate.tarball}`,
    };
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
    await cp(join(ROOT, 'test/packaging/consumer/scenes'), scenes, { recursive: true });
    await writeFile(join(scenes, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const config = join(scenes, 'tsconfig.json');
    await writeFile(config, JSON.stringify({ compilerOptions: SETTINGS, include: PROGRAMS }));
    const { stdout } = await run(process.execPath, [TSC, '-p', config]).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function outcomesOf(scene: string, given: NodeJS.ProcessEnv = {}): Promise<Record<string, string>> {
    const database = await createTestDatabase();
    const env = {
      ...process.env,
      NODE_OPTIONS: `--import ${RESOLVERS}`,
      DATABASE_URL: database.url,
      ...given,
    };
    const main = join(scenes, 'dist', scene, 'main.js');
    try {
      const { stdout } = await run(process.execPath, [main], { cwd: folder, env });
      return JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, string>;
    } finally {
      await database.drop();
    }
  }
  const asDocumented = (outcomes: Record<string, string>) =>
    Object.fromEntries(Object.keys(outcomes).map((scene) => [scene, 'as documented']));

  test.each(PROGRAMS)(
    'does on PostgreSQL what is documented: %s',
    async (scene) => {
      const outcomes = await outcomesOf(scene);
      expect(outcomes).toEqual(asDocumented(outcomes));
    },
    300_000,
  );

  (program ? test : test.skip).each(PROGRAMS)(
    'does on Restate what is documented: %s',
    async (scene) => {
      const server = await RestateServer.start(program!);
      const ports = await Promise.all(Array.from({ length: APPLICATIONS }, freePort));
      const balancer = await RequestBalancer.over(ports);
      try {
        const outcomes = await outcomesOf(scene, {
          ...{ RESTATE_INGRESS: server.ingress, RESTATE_ADMIN: server.admin },
          ...{ RESTATE_PORTS: ports.join(), RESTATE_ADDRESS: balancer.address },
        });
        expect(outcomes).toEqual(asDocumented(outcomes));
      } finally {
        await balancer.close();
        await server.stop();
      }
    },
    300_000,
  );
});
