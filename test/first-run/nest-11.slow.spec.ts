import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { NEST_11, NestApps } from '../cli/support/nest-apps.js';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('../../libs/saga', import.meta.url));
const apps = NestApps.make();

test('an application on Nest 11, with Jest as that sets it up, installs the package, gets a first saga by npx, and its test passes', async () => {
  const app = await apps.create(NEST_11, { installed: 'nothing' });
  const { NODE_ENV: _, ...inherited } = process.env;
  // For all calls of npm, those of `saga init` included.
  const quick = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };
  const env = { ...inherited, ...quick, NODE_OPTIONS: '', NO_COLOR: '1' };
  const call = async (program: string, ...args: string[]) => {
    const { stdout, stderr } = await run(program, args, { cwd: app.path, env, maxBuffer: 1e8 });
    return stdout + stderr;
  };
  const packed = await run('npm', ['pack', '--json', '--pack-destination', app.path], { cwd: PACKAGE });
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  await call('npm', 'install', `./${filename}`);
  // By npm's rule that a package with one bin runs it, whatever the bin is called.
  expect(await call('npm', 'exec', '-y', '--', `./${filename}`, 'init', '--install')).toContain(
    'src/orders/place-order.saga.ts',
  );
  await call('npx', 'tsc', '--noEmit', '-p', '.');
  expect(await call('npm', 'test')).toMatch(/Tests: +3 passed/);
}, 300_000);
