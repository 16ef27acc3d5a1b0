import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../libs/cli/dist/postgres/index.js';
import { run } from './commands.mjs';

/** Milliseconds that a program may take. */
const LONGEST_RUN = 180_000;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Projects of other people's making; what is tried in each is in docs/compatibility.md. */
export const FOREIGN = [
  {
    name: 'vendure',
    node: process.versions.node,
    postgres: 18,
    format: 'commonjs',
    build: 'tsc',
    installed: installedVendure,
    tried: vendure,
  },
];

/**
 * What docs/vendure.md installs. There is no lock file: Nest and TypeORM have to be those of Vendure all the
 * same.
 */
const VENDURE = {
  '@vendure/core': '3.7.3',
  '@nestjs/common': '^11.0.12',
  '@nestjs/core': '^11.0.12',
  typeorm: '^0.3.21',
  pg: '8.23.1',
  typescript: '5.8.3',
  '@types/node': '22.19.0',
};
const COMPILER = {
  ...{ module: 'commonjs', moduleResolution: 'node10', target: 'es2019', strict: true, skipLibCheck: true },
  ...{ experimentalDecorators: true, emitDecoratorMetadata: true, esModuleInterop: true },
  ...{ noImplicitAny: false, outDir: 'dist' },
};
const EXPECTED = { sagas: 1, status: 'completed', process: 'worker', enabled: false, dashboard: [403, 200] };

function installedVendure(installations) {
  const { 'nestjs-durable-saga': core, 'nestjs-durable-saga-admin': admin } = installations.packages;
  const packages = { 'nestjs-durable-saga': core, 'nestjs-durable-saga-admin': admin };
  return installations.of('vendure', { ...VENDURE, ...packages });
}

async function vendure({ installations, servers }) {
  const folder = await installedVendure(installations);
  const page = await readFile(here('../../docs/vendure.md'), 'utf8');
  const [, plugin] = /```typescript\n([^]*?)```/.exec(page);
  await mkdir(join(folder, 'src'), { recursive: true });
  await writeFile(join(folder, 'src/market.plugin.ts'), plugin);
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: COMPILER, include: ['src'] }),
  );
  await copyFile(here('vendure.cjs'), join(folder, 'main.cjs'));
  await run(process.execPath, [join(folder, 'node_modules/typescript/bin/tsc'), '-p', '.'], { cwd: folder });
  const common = { VENDURE_DISABLE_TELEMETRY: 'true', PORT: String(await freePort()) };
  const env = { ...process.env, ...common, DATABASE_URL: await servers.database(18) };
  let worker;
  // The worker starts once the server has made Vendure's tables.
  const onLine = (line) => {
    if (line === 'sagas running')
      worker = spawn(process.execPath, ['main.cjs'], {
        cwd: folder,
        env: { ...env, ROLE: 'worker' },
        stdio: 'ignore',
      });
  };
  try {
    const options = { cwd: folder, env: { ...env, ROLE: 'server' }, onLine, longest: LONGEST_RUN };
    const said = (await run(process.execPath, ['main.cjs'], options)).trim().split('\n').at(-1);
    if (said !== JSON.stringify(EXPECTED))
      throw new Error(`Expected ${JSON.stringify(EXPECTED)}, and it said ${said}`);
    return versionsIn(folder);
  } finally {
    if (worker && worker.exitCode === null) {
      const exit = once(worker, 'exit');
      worker.kill('SIGKILL');
      await exit;
    }
  }
}

async function versionsIn(folder) {
  const version = async (name) =>
    JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
  const names = ['@nestjs/core', 'typeorm', 'pg'];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await version(name)])));
}

/** @returns {Promise<{ result: 'ok' | 'failed', versions?: object, reason?: string }>} */
export async function tryForeign({ tried }, parts) {
  try {
    return { result: 'ok', versions: await tried(parts) };
  } catch (error) {
    return { result: 'failed', reason: error.stack };
  }
}
