import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { delimiter, join } from 'node:path';
import { freePort } from '../../libs/cli/dist/postgres/index.js';
import { untilListening } from '../support/until-listening.mjs';
import { run } from './commands.mjs';
import { installedVersions } from './installed-versions.mjs';
import { SETS } from './rows.mjs';

const PNPM = '12.21.0';
const ORDER = { orderId: '1', sku: 'cup', amount: 20 };

/**
 * What `nest new` of Nest 11 makes, by pnpm: node_modules holds what package.json names and nothing else, and
 * no build
 * script of a package runs. `saga init` sets it up; its test, the linter of the project and an order follow.
 */
export async function pnpm({ installations }) {
  const tools = await installedPnpm(installations);
  const nest = join(await installations.ofSet('nest11', SETS.nest11), 'node_modules/@nestjs/cli/bin/nest.js');
  const made = ['new', 'shop', '--package-manager', 'pnpm', '--skip-git', '--skip-install'];
  await run(process.execPath, [nest, ...made], { cwd: tools });
  const [port, databasePort] = [await freePort(), await freePort()];
  const folder = join(tools, 'shop');
  const env = {
    ...process.env,
    ...{ CI: 'true', NODE_OPTIONS: '', PORT: String(port), pnpm_config_store_dir: join(tools, 'store') },
    PATH: `${join(tools, 'node_modules/.bin')}${delimiter}${process.env.PATH}`,
    DATABASE_URL: `postgres://postgres:postgres@127.0.0.1:${databasePort}/postgres`,
  };
  const call = (...words) => run('pnpm', words, { cwd: folder, env });
  // What the packages name of each other is not in the registry.
  const overrides = Object.entries(installations.packages).map(([name, file]) => `  '${name}': '${file}'\n`);
  await appendFile(join(folder, 'pnpm-workspace.yaml'), `overrides:\n${overrides.join('')}`);
  await call('add', ...Object.values(installations.packages)).catch(unlessBuildsWereIgnored);
  const said = await call('exec', 'saga', 'init', '--install', '--postgres');
  if (!said.includes('pnpm approve-builds')) throw new Error(`saga init did not name the fix:\n${said}`);
  await call('test');
  await call('exec', 'eslint', '{src,test}/**/*.ts');
  await call('run', 'build');
  await order({ folder, env, port, call });
  return installedVersions(folder);
}

export function installedPnpm(installations) {
  return installations.of('pnpm', { pnpm: PNPM });
}

/** pnpm has installed everything then. The exit code is 1 until the scripts are approved or rejected. */
function unlessBuildsWereIgnored(error) {
  if (!error.message.includes('ERR_PNPM_IGNORED_BUILDS')) throw error;
}

/** The PostgreSQL that `saga init` has added runs without the build script of its package. */
async function order({ folder, env, port, call }) {
  const saga = join(folder, 'node_modules/nestjs-durable-saga-cli/dist/saga.js');
  const started = [];
  const background = async (file, words, ready) => {
    const child = spawn(process.execPath, [file, ...words], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exit = once(child, 'exit');
    started.push(() => (child.kill('SIGTERM'), exit));
    await new Promise((resolve, reject) => {
      createInterface(child.stdout).on('line', (line) => ready.test(line) && resolve());
      child.once('exit', () => reject(new Error(`${file} ended before it said ${ready}`)));
    });
  };
  try {
    await background(saga, ['postgres'], /PostgreSQL answers/);
    await background('dist/main.js', [], /successfully started/);
    await untilListening(port);
    const headers = { 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${port}/orders`;
    const placed = await fetch(url, { method: 'POST', headers, body: JSON.stringify(ORDER) });
    const { saga: id } = await placed.json();
    await call('exec', 'saga', 'watch', id, '--timeout', '60s');
  } finally {
    for (const stop of started.reverse()) await stop();
  }
}
