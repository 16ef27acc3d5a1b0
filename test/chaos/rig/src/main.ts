import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FAULTS } from './faults/all-faults.js';
import { type Figures, isClean } from './figures.js';
import { keepFigures } from './table.js';

const ONE_FAULT = fileURLToPath(new URL('./one-fault.js', import.meta.url));
const names = FAULTS.map(({ name }) => name);

const { values } = parseArgs({
  options: {
    fault: { type: 'string', default: names.join() },
    minutes: { type: 'string', default: '10' },
    jobs: { type: 'string', default: '1' },
    rate: { type: 'string', default: '15' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const chosen = values.fault.split(',');
const unknown = chosen.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`No such fault: ${unknown.join(', ')}. There are: ${names.join(', ')}`);
  process.exit(2);
}

/** In a process of its own, so that several can run side by side. */
function run(fault: string): Promise<Figures | 'not permitted' | 'broke off'> {
  const child = fork(ONE_FAULT, [fault, values.minutes, values.rate, values.seed], {
    serialization: 'advanced',
  });
  return new Promise((resolve) => {
    child.on('message', (answer) => resolve(answer as Figures | 'not permitted'));
    child.on('exit', () => resolve('broke off'));
  });
}

let clean = true;
let kept: Promise<unknown> = Promise.resolve();
async function runNext(): Promise<void> {
  for (let fault = chosen.shift(); fault !== undefined; fault = chosen.shift()) {
    const figures = await run(fault);
    if (typeof figures === 'string') {
      console.log(figures === 'not permitted' ? `${fault}: skipped: not permitted` : `${fault}: ${figures}`);
      clean &&= figures === 'not permitted';
    } else {
      clean &&= isClean(figures);
      console.log(`${fault}: ${JSON.stringify(figures)}`);
      kept = kept.then(() => keepFigures([figures], names));
      await kept;
    }
  }
}

console.log(`seed ${values.seed}, ${values.minutes} min for each of ${chosen.length}`);
await Promise.all(Array.from({ length: Number(values.jobs) }, runNext));
console.log(await keepFigures([], names));
process.exit(clean ? 0 : 1);
