import { FAULTS } from './faults/all-faults.js';
import { runFault } from './run-fault.js';

const [name, minutes, rate, seed] = process.argv.slice(2);
const fault = FAULTS.find((one) => one.name === name)!;
const figures = await runFault(fault, {
  minutes: Number(minutes),
  rate: Number(rate),
  seed: Number(seed),
  say: (line) => console.log(line),
});
process.send?.(figures ?? 'not permitted', () => process.exit(0));
