// What a newcomer does by the README, with a stopwatch: from an empty folder to a first saga that survives
// kill -9.
// npm run trial [-- --nest=11] [--orm=drizzle] [--keep]; --orm=all tries each database layer in turn
import { execFile, spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { packPackages } from '../compatibility/installation.mjs';
import { untilListening } from '../support/until-listening.mjs';

/** The promised time (s): ten minutes, including the time to read and type. */
const LIMIT = 600;
/** The estimated time to read and type (s): the README's first screen, and eight commands. */
const READING = 240;
const ORDER = { orderId: 'order-1', sku: 'cup', amount: 20 };

/** The database layers of `--orm=all`. */
const ORMS = ['typeorm', 'drizzle', 'kysely', 'knex', 'mikro-orm', 'prisma', 'pg'];

const { values } = parseArgs({
  options: {
    nest: { type: 'string', default: 'latest' },
    orm: { type: 'string' },
    keep: { type: 'boolean' },
  },
});
if (values.orm === 'all') process.exit(tryAll());
const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), 'saga-trial-'));
// PostgreSQL runs as another user where this one is root.
await chmod(folder, 0o755);
const shop = join(folder, 'shop');
const [appPort, databasePort] = [await freePort(), await freePort()];
const env = {
  ...process.env,
  PORT: String(appPort),
  DATABASE_URL: `postgres://postgres:postgres@127.0.0.1:${databasePort}/postgres`,
  // The client of Prisma needs no engine. Its download is left out, as it is from other hosts than the packages.
  PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
};
const started = [];
const rows = [];

try {
  const packed = Object.values(await packPackages(folder)).map((dependency) =>
    dependency.replace('file:', ''),
  );
  await step(`npx @nestjs/cli@${values.nest} new shop`, () =>
    call(
      'npx',
      ['-y', `@nestjs/cli@${values.nest}`, 'new', 'shop', '--package-manager', 'npm', '--skip-git'],
      folder,
    ),
  );
  // In place of the registry: what `npx nestjs-durable-saga-cli init` would fetch is there.
  await step('npm install nestjs-durable-saga nestjs-durable-saga-cli', () =>
    call('npm', ['install', ...packed]),
  );
  const init = ['saga', 'init', ...(values.orm ? ['--orm', values.orm] : []), '--install', '--postgres'];
  await step(`npx ${init.join(' ')}`, async () => {
    console.log((await call('npx', init)).replace(/^/gm, '    '));
  });
  if (values.orm && values.orm !== 'typeorm') await hasNoTypeOrm();
  await step('npm test', () => call('npm', ['test']));
  await step('npm run postgres', () => background('npm', ['run', 'postgres'], /PostgreSQL answers/));
  const first = await step('npm run start', application);
  await step('an order, and kill -9 in the middle of charging', async () => {
    await http('POST', '/orders', ORDER);
    await first.says(/charge 20 .* the bank answers in 5 s/);
    process.kill(-first.pid, 'SIGKILL');
    await first.ended;
  });
  const second = await step('npm run start, again', application);
  await step('the order is completed', () => completed());
  await step('npx saga list', async () =>
    console.log((await call('npx', ['saga', 'list'])).replace(/^/gm, '    ')),
  );
  if (/reserve cup/.test(second.said)) throw new Error('What was stored before the kill was run again');
  const seconds = rows.reduce((sum, [, one]) => sum + one, 0);
  console.log(
    `\n${seconds.toFixed(0)} s of waiting, and ${READING} s of reading and typing by guess; the limit is ${LIMIT} s`,
  );
  if (seconds + READING > LIMIT) throw new Error('That is too long');
} catch (error) {
  console.error(error.stack ?? error, error.stdout ?? '', error.stderr ?? '');
  for (const { said } of started) console.error(said);
  process.exitCode = 1;
} finally {
  for (const process of started.reverse()) await process.stop();
  if (!values.keep) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  else console.log(`Kept: ${folder}`);
}

/** One trial for each layer, in a process of its own. @returns the exit code */
function tryAll() {
  const given = process.argv.slice(2).filter((one) => !one.startsWith('--orm'));
  const failed = ORMS.filter((orm) => {
    console.log(`\n━━ ${orm}`);
    const again = [fileURLToPath(import.meta.url), ...given, `--orm=${orm}`];
    return spawnSync(process.execPath, again, { stdio: 'inherit' }).status !== 0;
  });
  if (failed.length > 0) console.error(`\nFailed: ${failed.join(', ')}`);
  return failed.length > 0 ? 1 : 0;
}

async function hasNoTypeOrm() {
  const listed = await call('npm', ['ls', 'typeorm', '@nestjs/typeorm']).catch(({ stdout }) => stdout);
  if (!listed.includes('(empty)')) throw new Error(`TypeORM is installed:\n${listed}`);
}

async function step(name, work) {
  console.log(`\n▸ ${name}`);
  const begin = performance.now();
  const result = await work();
  const seconds = (performance.now() - begin) / 1_000;
  rows.push([name, seconds]);
  console.log(`  ${seconds.toFixed(1)} s`);
  return result;
}

async function call(program, args, cwd = shop) {
  const { stdout } = await run(program, args, { cwd, env, timeout: 300_000, maxBuffer: 1e8 });
  return stdout;
}

/** A process group of its own, once it has said this. */
async function background(program, args, ready) {
  const child = spawn(program, args, { cwd: shop, env, detached: true });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const shell = { said: '', pid: child.pid, ended, says, stop };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (shell.said += data));
  started.push(shell);
  await says(ready);
  return shell;

  async function says(words) {
    for (const until = Date.now() + 120_000; !words.test(shell.said); await sleep(50)) {
      if (child.exitCode !== null || Date.now() > until)
        throw new Error(`${program} ${args.join(' ')} never said ${words}`);
    }
  }

  async function stop() {
    if (child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, 'SIGTERM');
    await Promise.race([ended, sleep(10_000)]);
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
  }
}

async function completed() {
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(250)) {
    const { status } = await http('GET', `/orders/${ORDER.orderId}`);
    if (status === 'completed') return;
  }
  throw new Error('The order was not completed in a minute');
}

async function application() {
  const started = await background('npm', ['run', 'start'], /successfully started/);
  await untilListening(appPort);
  return started;
}

async function http(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${appPort}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
