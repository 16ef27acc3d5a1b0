import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PACKAGES } from '../../rooms.mjs';
import { NEST_11, NestApps } from '../cli/support/nest-apps.js';
import { packLibrary } from '../packaging/pack-library.js';

const run = promisify(execFile);
const apps = NestApps.make();

test('an application on Nest 11, with Jest as that sets it up, installs the packages, gets a first saga by npx, and its test passes', async () => {
  const app = await apps.create(NEST_11, { installed: 'nothing' });
  const { NODE_ENV: _, ...inherited } = process.env;
  // For all calls of npm, those of `saga init` included.
  const quick = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };
  const env = { ...inherited, ...quick, NODE_OPTIONS: '', NO_COLOR: '1' };
  const call = async (program: string, ...args: string[]) => {
    const { stdout, stderr } = await run(program, args, { cwd: app.path, env, maxBuffer: 1e8 });
    return stdout + stderr;
  };
  const tarballs: string[] = [];
  for (const name of Object.keys(PACKAGES)) tarballs.push((await packLibrary(app.path, name)).tarball);
  await call('npm', 'install', ...tarballs);
  expect(await call('npx', 'saga', 'init', '--install')).toContain('src/orders/place-order.saga.ts');
  await call('npx', 'tsc', '--noEmit', '-p', '.');
  expect(await call('npm', 'test')).toMatch(/Tests: +3 passed/);
}, 300_000);
