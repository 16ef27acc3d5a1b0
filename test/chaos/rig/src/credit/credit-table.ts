import { keepBlock } from '../table.js';
import type { CreditFigures } from './run-credit.js';
import { VICTIMS } from './killer.js';

/** Puts the figures of a run into docs/reliability.md, in place of those of the run before; gives the table. */
export function keepCreditFigures(figures: CreditFigures): Promise<string> {
  const { orders, kills, lost, doubled, wrong, rest, date, minutes } = figures;
  const head = [
    'orders',
    ...VICTIMS.map((victim) => `kills: ${victim}`),
    'lost',
    'handled twice',
    'does not add up',
    'idle after',
    'run',
  ];
  const cells = [
    ...[orders, ...VICTIMS.map((victim) => kills[victim]), lost, doubled, wrong],
    ...[`${(rest / 1_000).toFixed(1)} s`, `${date}, ${minutes.toFixed(1)} min`],
  ];
  const rule = head.map(() => '--:');
  const rows = [head, rule, cells].map((row) => `| ${row.join(' | ')} |`);
  const claims = figures.claims.map((claim) => `- ${claim}`);
  return keepBlock('chaos:credit', () => [...rows, '', ...claims].join('\n'));
}
