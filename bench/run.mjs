// npm run bench -- [--peers] [--suite] [--rounds=3] [--quick] [--only=saga|dbos|…] [--only-measures=in-flight,…] …: see README.md
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { enginesOf, memoryFlags, metricsOf } from './engines.mjs';
import { measuresOf, sizesOf } from './measures/list.mjs';
import { readLines } from './report/lines.mjs';
import { report } from './report.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    peers: { type: 'boolean', default: false },
    suite: { type: 'boolean', default: false },
    'only-measures': { type: 'string' },
    sizes: { type: 'string' },
    memory: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    'no-build': { type: 'boolean', default: false },
    data: { type: 'string' },
    pool: { type: 'string' },
    conc: { type: 'string' },
    window: { type: 'string' },
  },
});
const { quick } = flags;
const rounds = Number(flags.rounds ?? (quick ? 1 : 3));
if (!(rounds >= 1)) throw new Error(`--rounds=${flags.rounds}: give a number from 1`);
const suite = flags.suite || flags['only-measures'] !== undefined;
const measures = suite ? measuresOf(flags['only-measures']) : [];
const sizes = sizesOf(flags.sizes);
// The suite alone leaves the engines out; it goes with them where they are asked for.
const compares = !suite || flags.peers || flags.only !== undefined;
const ownFlags = ['pool', 'conc', 'window'].filter((f) => flags[f]).map((f) => `--${f}=${flags[f]}`);
const engines = compares ? enginesOf(flags.only, flags.peers, ownFlags) : [];

let current;
function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], ...options });
    current = child;
    child.stdout?.resume();
    child.once('error', reject);
    child.once('exit', (code) => {
      current = undefined;
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}`));
    });
  });
}

async function prepare() {
  const root = { cwd: at('..') };
  if (!existsSync(at('../node_modules'))) await run('npm', ['ci'], root);
  if (!existsSync(at('node_modules/.package-lock.json'))) {
    console.error('Installing what the benchmark needs …');
    await run('npm', ['ci', '--prefix', 'bench'], root);
  }
  if (flags['no-build']) return;
  console.error('Building the library …');
  await run('npx', ['nest', 'build', 'saga'], root);
}

/** One run in a process of its own. Says whether it completed. */
async function complete(title, args, { node, env, round }) {
  console.error(`round ${round}/${rounds}  ${title}`);
  try {
    await run(node, ['--no-deprecation', '--max-semi-space-size=32', ...args], {
      env: { ...env, ROUND: String(round) },
    });
    return true;
  } catch (error) {
    console.error(`FAILED: ${error.message}`);
    return false;
  }
}

/** What is to be run, in order: { title, args, round }. */
function* schedule() {
  const metric = (engine, name, args, round, nodeFlags = []) => ({
    title: `${name.padEnd(10)}  ${engine.name}`,
    args: [...nodeFlags, at(`peers/${engine.file}`), name, ...engine.flags, ...args],
    round,
  });
  for (let round = 1; round <= rounds && !flags.memory; round += 1) {
    for (const [name, argsOf] of metricsOf(quick)) {
      // Another one goes first in each round.
      for (let k = 0; k < engines.length; k += 1) {
        const engine = engines[(k + round - 1) % engines.length];
        yield metric(engine, name, argsOf(engine), round);
      }
    }
  }
  const own = engines.find(({ name }) => name === 'saga');
  if (own) yield metric(own, 'memory', memoryFlags(quick), rounds, ['--expose-gc']);
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, once, quick: small } of measures) {
      if (once && round > 1) continue;
      const args = [...(quick ? small : []), ...(sizes[name] ?? [])];
      yield { title: `measure     ${name}`, args: [at(`measures/${name}.mjs`), ...args], round };
    }
  }
}

async function main() {
  await prepare();
  const { startServer } = await import('./server.mjs');
  const { machine, nodeBinary } = await import('./machine.mjs');
  const node = nodeBinary();
  const server = await startServer(flags.data);
  let stopping;
  const stop = () => (stopping ??= server.stop());
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      current?.kill();
      void stop().finally(() => process.exit(130));
    });
  }
  mkdirSync(at('results'), { recursive: true });
  const results = at(`results/${new Date().toISOString().replace(/[:.]/g, '-')}.jsonl`);
  const env = { ...process.env, PGURL: server.url, RESULTS: results };
  let failures = 0;
  try {
    appendFileSync(results, `${JSON.stringify({ quick, ...(await machine(node, server.url)) })}\n`);
    for (const { title, args, round } of schedule())
      if (!(await complete(title, args, { node, env, round }))) failures += 1;
  } finally {
    await stop();
  }
  const { text, missed, incomplete } = report(readLines([results]));
  console.log(`\n${text}\n\nEvery figure: bench/results/${results.split(/[\\/]/).at(-1)}`);
  if (failures + incomplete > 0) {
    console.log(`${failures + incomplete} run(s) did not complete.`);
    process.exitCode = 1;
  } else if (flags.strict && missed > 0) {
    process.exitCode = 1;
  }
}

await main();
