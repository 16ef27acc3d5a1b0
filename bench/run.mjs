// npm run bench -- [--peers] [--rounds=3] [--quick] [--only=saga|dbos|…] [--memory] [--strict] …: see README.md
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { report } from './report.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    peers: { type: 'boolean', default: false },
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

/** Each runs long enough, at its own speed, for a steady figure: 3 s and more. */
const ENGINES = [
  {
    name: 'saga',
    file: 'saga.mjs',
    flags: ['pool', 'conc', 'window'].filter((f) => flags[f]).map((f) => `--${f}=${flags[f]}`),
    n: quick ? 10_000 : 40_000,
    warm: 3_000,
  },
  { name: 'dbos', file: 'dbos.mjs', flags: ['--variant=direct', '--pool=10', '--conc=20'], n: 2_000 },
  { name: 'naive-save', file: 'naive.mjs', flags: ['--variant=save', '--conc=10'], n: 2_000 },
  { name: 'naive-lean', file: 'naive.mjs', flags: ['--variant=lean', '--conc=10'], n: 2_500 },
];
/** Beside them with --peers; some need Node 22, of which npm brings a binary. */
const PEERS = [
  {
    name: 'pg-boss-batch',
    file: 'pg-boss.mjs',
    flags: ['--variant=batch'],
    n: 20_000,
    warm: 2_000,
    node: 22,
  },
  { name: 'pg-boss', file: 'pg-boss.mjs', flags: ['--variant=perjob'], n: 4_000, node: 22 },
  { name: 'graphile-worker', file: 'graphile-worker.mjs', flags: [], n: 2_000, node: 22 },
  { name: 'openworkflow', file: 'openworkflow.mjs', flags: [], n: 2_000, slow: true },
  { name: 'pg-workflows', file: 'pg-workflows.mjs', flags: [], n: 1_000, slow: true, node: 22 },
];
const wanted = flags.only?.split(',');
const unknown = wanted?.filter((name) => ![...ENGINES, ...PEERS].some((e) => e.name === name)) ?? [];
if (unknown.length > 0) {
  const all = [...ENGINES, ...PEERS].map((e) => e.name).join(', ');
  throw new Error(`--only=${unknown.join(',')}: give some of ${all}`);
}
const engines = wanted
  ? [...ENGINES, ...PEERS].filter(({ name }) => wanted.includes(name))
  : [...ENGINES, ...(flags.peers ? PEERS : [])];

const METRICS = [
  ['throughput', ({ n, warm = 300 }) => [`--n=${quick ? Math.max(1_000, n / 4) : n}`, `--warm=${warm}`]],
  [
    'latency',
    // Those that poll take so long for each that they need no compiling to be measured.
    ({ slow }) =>
      slow ? ['--n=40', '--warm=20'] : [`--n=${quick ? 100 : 300}`, `--warm=${quick ? 300 : 1_500}`],
  ],
  ['idle', () => [`--secs=${quick ? 5 : 10}`]],
];

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
async function measure(engine, metric, args, round, env, nodeFlags = []) {
  console.error(`round ${round}/${rounds}  ${metric.padEnd(10)}  ${engine.name}`);
  try {
    const adapter = at(`peers/${engine.file}`);
    const own = Number(process.versions.node.split('.')[0]) >= (engine.node ?? 0);
    await run(
      own ? process.execPath : at('node_modules/node/bin/node'),
      [...nodeFlags, '--no-deprecation', adapter, metric, ...engine.flags, ...args],
      {
        env: { ...env, ROUND: String(round) },
      },
    );
    return true;
  } catch (error) {
    console.error(`FAILED: ${error.message}`);
    return false;
  }
}

async function main() {
  await prepare();
  const { startServer } = await import('./server.mjs');
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
    for (let round = 1; round <= rounds && !flags.memory; round += 1) {
      for (const [metric, argsOf] of METRICS) {
        // Another one goes first in each round.
        for (let k = 0; k < engines.length; k += 1) {
          const engine = engines[(k + round - 1) % engines.length];
          if (!(await measure(engine, metric, argsOf(engine), round, env))) failures += 1;
        }
      }
    }
    const [saga] = engines.filter(({ name }) => name === 'saga');
    if (saga) {
      const args = quick ? ['--n=50000', '--slice=5000'] : ['--n=200000', '--slice=20000'];
      if (!(await measure(saga, 'memory', args, rounds, env, ['--expose-gc']))) failures += 1;
    }
  } finally {
    await stop();
  }
  const lines = existsSync(results)
    ? readFileSync(results, 'utf8')
        .trim()
        .split('\n')
        .map((l) => JSON.parse(l))
    : [];
  const { text, missed, incomplete } = report(lines);
  console.log(
    `\n${cpus().length} processors, Node ${process.versions.node}, PostgreSQL 18 on the same machine\n\n${text}`,
  );
  console.log(`\nEvery figure: bench/results/${results.split(/[\\/]/).at(-1)}`);
  if (failures + incomplete > 0) {
    console.log(`${failures + incomplete} run(s) did not complete.`);
    process.exitCode = 1;
  } else if (flags.strict && missed > 0) {
    process.exitCode = 1;
  }
}

await main();
