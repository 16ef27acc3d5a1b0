import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Files, type NestAppFolder, NestApps } from '../cli/support/nest-apps.js';

const PROJECT = fileURLToPath(new URL('user-project', import.meta.url));
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const apps = NestApps.make();

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

function run(app: NestAppFolder, ...args: string[]): Promise<Ended> {
  // Of the Jest that this runs in: other runners would take them for their own.
  const { NODE_ENV: _, JEST_WORKER_ID: __, NODE_TEST_CONTEXT: ___, ...env } = process.env;
  return new Promise((resolve) => {
    const options = { cwd: app.path, env: { ...env, NODE_OPTIONS: '', NO_COLOR: '1' } };
    const child = execFile(process.execPath, args, options, (_error, out, error) =>
      resolve({ code: child.exitCode, said: out + error }),
    );
  });
}

/** The user's project, with the tests for this runner. */
function project(runner: 'vitest' | 'node', { types = true } = {}): Files {
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', strict: true, skipLibCheck: true, types: ['node'] },
    ...{ rootDir: '.', outDir: 'dist', experimentalDecorators: true, emitDecoratorMetadata: types },
  };
  const names = readdirSync(PROJECT).filter(
    (name) => !name.endsWith('.test.ts') || name.includes(`.${runner}.`),
  );
  return {
    'package.json': JSON.stringify({ private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'], exclude: ['vitest.config.ts'] }),
    ...Object.fromEntries(names.map((name) => [name, readFileSync(join(PROJECT, name), 'utf8')])),
  };
}

const vitest = (app: NestAppFolder, ...args: string[]) =>
  run(app, join(MODULES, 'vitest/vitest.mjs'), 'run', ...args);

describe('in Vitest', () => {
  test.each([
    ['on Vite 8, which reads tsconfig.json', {}],
    [
      'compiled by swc, as for Vite up to 7',
      {
        'vitest.config.ts': `import swc from 'unplugin-swc';
import { defineConfig } from 'vitest/config';
export default defineConfig({ oxc: false, plugins: [swc.vite({ module: { type: 'es6' } })] });
`,
      },
    ],
  ])('sagas are tested %s', async (_, config: Files) => {
    const app = await apps.create({ ...project('vitest'), ...config });
    const { code, said } = await vitest(app, 'place-order');
    expect([code, said]).toEqual([0, expect.stringMatching(/Tests {2}5 passed/)]);
  });

  test('a failure that everyFailure finds is reported with the steps that lead to it', async () => {
    const app = await apps.create(project('vitest'));
    const { code, said } = await vitest(app, 'lost-refunds');
    expect(code).toBe(1);
    expect(said).toMatch(/SagaFailureMatrixError: place-order: \d+ of \d+ failure cases do not pass/);
    expect(said).toMatch(/✗ charge times out after its side effect[^]*0 reserved and 1 charged, not 0/);
  });

  test('a compiler that leaves no types is named, and the fix', async () => {
    const app = await apps.create(project('vitest', { types: false }));
    const { code, said } = await vitest(app, 'place-order');
    expect(code).toBe(1);
    expect(said).toMatch(
      /PlaceOrderSaga: the constructor's parameters 0, 1 .* are undefined.*esbuild.*@Inject\(/,
    );
  });
});

describe('in node:test', () => {
  const tsc = (app: NestAppFolder) => run(app, join(MODULES, 'typescript/bin/tsc'), '-p', '.');

  test('sagas are tested as tsc has compiled them, and the process ends by itself', async () => {
    const app = await apps.create(project('node'));
    expect(await tsc(app)).toEqual({ code: 0, said: '' });
    const { code, said } = await run(app, '--test', 'dist/place-order.node.test.js');
    expect([code, said]).toEqual([0, expect.stringMatching(/# pass 5|ℹ pass 5/)]);
  });

  test('a failure that everyFailure finds is reported with the steps that lead to it', async () => {
    const app = await apps.create(project('node'));
    await tsc(app);
    const { code, said } = await run(app, '--test', 'dist/lost-refunds.node.test.js');
    expect(code).toBe(1);
    expect(said).toMatch(/place-order: \d+ of \d+ failure cases do not pass/);
    expect(said).toMatch(/✗ charge times out after its side effect[^]*0 reserved and 1 charged, not 0/);
  });
});
