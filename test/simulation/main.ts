import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeFailure } from './describe-failure.js';
import { NOTHING, type Played, playSeeds, sum } from './play-seeds.js';
import { scenarioOf } from './scenario.js';
import { shrink } from './shrink.js';
import { simulate } from './simulate.js';

const USAGE = `npm run simulate -- [--seeds=10000] [--from=1] [--jobs=<processors>]
npm run simulate -- --seed=<seed> [--without=<parts>]   one scenario, with all that happens in it
A seed that fails is made as small as it can be, and reported.`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    seed: { type: 'string' },
    without: { type: 'string', default: '' },
    /** The arguments of a process that another one started. */
    part: { type: 'boolean', default: false },
  },
});

const numberOf = (name: 'seeds' | 'from' | 'jobs' | 'seed'): number => {
  const number = Number(values[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`--${name}=${values[name]}: give a whole number.\n${USAGE}`);
};

/** The lists of seeds that failed once, which are played in each run of the tests. */
const KEPT_IN = 'the lists FOUND of test/simulation/simulation.spec.ts';

/** The number of failing seeds that are reported in full. The others are reported by number only. */
const REPORTED = 3;

async function main(): Promise<number> {
  if (values.part) return playPart();
  if (values.seed !== undefined) return playOne(numberOf('seed'));
  const began = performance.now();
  const { all: played, isWhole } = await playAll(began);
  console.log(textOf(played, began));
  for (const seed of played.failed.slice(0, REPORTED)) console.log(`\n${await reportOf(seed)}`);
  if (played.failed.length > 0)
    console.log(
      `\nFailing seeds: ${played.failed.join(', ')}. Keep each of them, with what was wrong, in ${KEPT_IN}`,
    );
  return played.failed.length + Number(!isWhole);
}

async function playOne(seed: number): Promise<number> {
  const without = values.without.split(',').filter(Boolean);
  console.log(await describeFailure(seed, without));
  return (await simulate(scenarioOf(seed, new Set(without)))).violations.length;
}

async function reportOf(seed: number): Promise<string> {
  const without = await shrink(seed, await simulate(scenarioOf(seed)));
  return describeFailure(seed, without);
}

async function playPart(): Promise<number> {
  await playSeeds({ from: numberOf('from'), count: numberOf('seeds') }, (played) => process.send!(played));
  process.disconnect();
  return 0;
}

/** The seeds in as many processes as there are processors. */
async function playAll(began: number): Promise<{ readonly all: Played; readonly isWhole: boolean }> {
  const [count, from, jobs] = [numberOf('seeds'), numberOf('from'), Math.max(1, numberOf('jobs'))];
  const share = Math.ceil(count / jobs);
  let all = NOTHING;
  let shown = began;
  const parts = Array.from({ length: jobs }, (_, n) => {
    const first = n * share;
    const flags = [`--from=${from + first}`, `--seeds=${Math.max(0, Math.min(share, count - first))}`];
    const part = fork(fileURLToPath(import.meta.url), ['--part', ...flags]);
    part.on('message', (played: Played) => {
      all = sum(all, played);
      for (const seed of played.failed) console.log(`Seed ${seed} breaks a promise`);
      if (performance.now() - shown < 10_000) return;
      shown = performance.now();
      console.log(textOf(all, began));
    });
    return new Promise<void>((resolve, reject) => {
      part.on('exit', (code) => {
        if (code === 0) resolve();
        else reject(new Error(`Seeds ${flags.join(' ')}: the process ended with ${code}`));
      });
    });
  });
  // What the others have found is reported as well if one of them has ended with an error.
  const lost = (await Promise.allSettled(parts)).filter((part) => part.status === 'rejected');
  for (const { reason } of lost) console.log(String(reason));
  return { all, isWhole: lost.length === 0 };
}

function textOf({ seeds, sagas, time, failed, waiting }: Played, began: number): string {
  const seconds = (performance.now() - began) / 1_000;
  const rate = Math.round(sagas / seconds).toLocaleString('en');
  const days = (time / 86_400_000).toFixed(1);
  return (
    `${seeds.toLocaleString('en')} scenarios, ${sagas.toLocaleString('en')} sagas, ${days} days of virtual time, ` +
    `${seconds.toFixed(0)} s, ${rate} simulated sagas a second, ${failed.length} failed, ` +
    `${waiting.toLocaleString('en')} with sagas that wait for an operator`
  );
}

process.exitCode = (await main()) > 0 ? 1 : 0;
