// npm run bench -- [--gate] [--peers] [--suite] [--rounds=3] [--quick] [--only=saga|dbos|…] [--only-measures=in-flight,…] …: see README.md
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { enginesOf, memoryFlags, metricsOf } from './engines.mjs';
import { Gate, GATE_ENGINES, GATE_MEASURES, GATE_ROUNDS } from './gate/gate.mjs';
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
    'as-installed': { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    against: { type: 'string' },
    'no-build': { type: 'boolean', default: false },
    data: { type: 'string' },
    pool: { type: 'string' },
    conc: { type: 'string' },
    window: { type: 'string' },
  },
});
const { quick } = flags;
const gate = flags.gate ? new Gate(flags.against) : undefined;
const rounds = Number(flags.rounds ?? (gate ? GATE_ROUNDS : quick ? 1 : 3));
if (!(rounds >= 1)) throw new Error(`--rounds=${flags.rounds}: give a number from 1`);
const suite = flags.suite || flags['only-measures'] !== undefined;
const measures = gate ? measuresOf(GATE_MEASURES) : suite ? measuresOf(flags['only-measures']) : [];
const sizes = sizesOf(flags.sizes);
// The suite alone leaves the engines out; it goes with them where they are asked for.
const compares = (!suite && !flags['as-installed']) || flags.peers || flags.only !== undefined;
const ownFlags = ['pool', 'conc', 'window'].filter((f) => flags[f]).map((f) => `--${f}=${flags[f]}`);
const engines = gate
  ? enginesOf(GATE_ENGINES, false, ownFlags)
  : compares
    ? enginesOf(flags.only, flags.peers, ownFlags)
    : [];

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
  await run('npm', ['run', 'build:libs'], root);
}

/** The same for all engines. */
const NODE_FLAGS = ['--max-semi-space-size=32'];

/** One run in a process of its own. Says whether it completed. */
async function complete({ title, args, round, node, nodeFlags = NODE_FLAGS }, env) {
  console.error(`round ${round}/${rounds}  ${title}`);
  try {
    await run(node, ['--no-deprecation', ...nodeFlags, ...args], {
      env: { ...env, ROUND: String(round) },
    });
    return true;
  } catch (error) {
    console.error(`FAILED: ${error.message}`);
    return false;
  }
}

/** A run of one of the engines' metrics: { title, args, round }. */
const engineRun = (engine, name, args, round, nodeFlags = []) => ({
  title: `${name.padEnd(10)}  ${engine.name}`,
  args: [...nodeFlags, at(`peers/${engine.file}`), name, ...engine.flags, ...args],
  round,
});

/** A run of one of the suite's measures. */
const measureRun = ({ name, quick: small, nodeFlags }, round) => ({
  title: `measure     ${name}`,
  args: [at(`measures/${name}.mjs`), ...(quick ? small : []), ...(sizes[name] ?? [])],
  ...{ round, nodeFlags },
});

/** What is to be run, in order. */
function* schedule() {
  for (let round = 1; round <= rounds && !flags.memory; round += 1) {
    for (const [name, argsOf] of metricsOf(quick)) {
      // Another one goes first in each round.
      for (let k = 0; k < engines.length; k += 1) {
        const engine = engines[(k + round - 1) % engines.length];
        yield engineRun(engine, name, argsOf(engine), round);
      }
    }
  }
  const own = engines.find(({ name }) => name === 'saga');
  if (own) yield engineRun(own, 'memory', memoryFlags(quick), rounds, ['--expose-gc']);
  for (let round = 1; round <= rounds; round += 1)
    for (const measure of measures) if (!measure.once || round === 1) yield measureRun(measure, round);
}

/** Everything, with what is installed first. */
function* allRuns(installed, results) {
  const parts = { engine: engineRun, measure: measureRun };
  if (gate) return yield* gate.schedule({ engines, measures, rounds, quick, results, parts });
  if (installed) yield* installed.schedule(rounds, quick);
  yield* schedule();
}

/** Reports all figures, and sets the exit code. */
function conclude(results, failures) {
  const lines = readLines([results]);
  const { text, missed, incomplete } = report(lines);
  console.log(`\n${text}\n\nEvery figure: bench/results/${results.split(/[\\/]/).at(-1)}`);
  const gated = gate?.report(lines);
  if (gated) console.log(`\n### Regression gate\n\n${gated.text}`);
  if (failures + incomplete > 0) console.log(`${failures + incomplete} run(s) did not complete.`);
  if (failures + incomplete > 0 || gated?.passes === false || (flags.strict && missed > 0))
    process.exitCode = 1;
}

async function main() {
  await prepare();
  const { startServer } = await import('./server.mjs');
  const { machine, nodeBinary } = await import('./machine.mjs');
  const node = nodeBinary();
  const installed = flags['as-installed']
    ? new (await import('./as-installed.mjs')).AsInstalled()
    : undefined;
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
    await installed?.prepare();
    for (const one of allRuns(installed, results))
      if (!(await complete({ node, ...one }, env))) failures += 1;
  } finally {
    installed?.remove();
    await stop();
  }
  conclude(results, failures);
}

await main();
