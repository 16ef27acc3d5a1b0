import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format } from 'oxfmt';
import type { Figures } from './figures.js';

const PAGE = fileURLToPath(new URL('../../../../docs/reliability.md', import.meta.url));
const HEAD = [
  '| fault | times injected | sagas | lost | doubled | left behind or wrong | stuck wrongly | recovery: median / longest | run |',
  '| --- | --: | --: | --: | --: | --: | --: | --: | --- |',
];

/** Puts figures into the table of docs/reliability.md, where each fault has its latest; gives the table. */
export function keepFigures(figures: readonly Figures[], order: readonly string[]): Promise<string> {
  return keepBlock('chaos', (table) => {
    const rows = new Map([...table.matchAll(/^\| `([\w-]+)`.*$/gm)].map(([row, name]) => [name!, row]));
    for (const one of figures) rows.set(one.fault, rowOf(one));
    return [...HEAD, ...order.flatMap((name) => rows.get(name) ?? [])].join('\n');
  });
}

/**
 * Puts another text in place of the figures of a script in docs/reliability.md; gives it as it stands there.
 * @param script of package.json, such as `chaos`
 * @param change from what is there
 */
export async function keepBlock(script: string, change: (block: string) => string): Promise<string> {
  const page = await readFile(PAGE, 'utf8');
  const [from, to] = [`<!-- figures: npm run ${script} -->`, '<!-- end of figures -->'];
  const [before, rest] = page.split(from) as [string, string];
  const end = rest.indexOf(to);
  const text = [before, from, '\n\n', change(rest.slice(0, end)), '\n\n', rest.slice(end)].join('');
  const { code: formatted } = await format(PAGE, text, { printWidth: 110, singleQuote: true });
  await writeFile(PAGE, formatted);
  const begin = formatted.indexOf(from) + from.length;
  return formatted.slice(begin, formatted.indexOf(to, begin)).trim();
}

function rowOf(figures: Figures): string {
  const { fault, injections, sagas, lost, doubled, wrong, stuck, recoveryMedian, recoveryMax } = figures;
  const recovery = `${seconds(recoveryMedian)} / ${seconds(recoveryMax)}`;
  const run = `${figures.date}, ${Math.round(figures.minutes)} min`;
  return `| ${[`\`${fault}\``, injections, sagas, lost, doubled, wrong, stuck, recovery, run].join(' | ')} |`;
}

function seconds(ms: number): string {
  return ms === Infinity ? 'none' : `${(ms / 1_000).toFixed(1)} s`;
}
