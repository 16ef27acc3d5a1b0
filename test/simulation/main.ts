import { parseArgs } from 'node:util';
import { PROMISES } from './promises.js';
import { partsOf, scenarioOf } from './scenario.js';
import { simulate, type Run } from './simulate.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    without: { type: 'string', default: '' },
    log: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (values.seed !== undefined) {
    const without = new Set(values.without.split(',').filter(Boolean));
    const run = await simulate(scenarioOf(Number(values.seed), without), values.log);
    if (values.log) console.log(run.log.join('\n'));
    console.log(
      run.violations
        .map(({ promise, what, at }) => `${promise} (${PROMISES[promise]}) at ${at}: ${what}`)
        .join('\n') || 'no violation',
      `${run.sagas} sagas, ${run.took} ms`,
    );
    return;
  }
  const began = performance.now();
  let sagas = 0;
  const failed: { seed: number; run: Run }[] = [];
  const [from, count] = [Number(values.from), Number(values.seeds)];
  for (let seed = from; seed < from + count; seed += 1) {
    const run = await simulate(scenarioOf(seed));
    sagas += run.sagas;
    if (run.violations.length > 0) {
      failed.push({ seed, run });
      const v = run.violations[0]!;
      console.log(`seed ${seed}: ${run.violations.length} ${v.promise} ${v.what.slice(0, 200)}`);
      if (failed.length >= 30) break;
    }
  }
  const secs = (performance.now() - began) / 1000;
  console.log(
    `${count} seeds, ${sagas} sagas, ${secs.toFixed(1)} s, ${(sagas / secs).toFixed(0)} sagas/s, ${failed.length} failed`,
  );
}
void partsOf;
await main();
