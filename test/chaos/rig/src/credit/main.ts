import { parseArgs } from 'node:util';
import { keepCreditFigures } from './credit-table.js';
import { runCredit } from './run-credit.js';

const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '5000' },
    rate: { type: 'string', default: '25' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
console.log(`seed ${values.seed}, ${values.orders} orders, ${values.rate} a second`);
const figures = await runCredit({
  orders: Number(values.orders),
  rate: Number(values.rate),
  seed: Number(values.seed),
  say: (line) => console.log(line),
});
for (const claim of figures.claims) console.log(claim);
console.log(await keepCreditFigures(figures));
process.exit(figures.lost + figures.doubled + figures.wrong === 0 ? 0 : 1);
