import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import type { Figures } from './figures.js';

const PAGE = fileURLToPath(new URL('../../../../docs/reliability.md', import.meta.url));
const [FROM, TO] = ['<!-- figures: npm run chaos -->', '<!-- end of figures -->'];
const HEAD = [
  '| fault | times injected | sagas | lost | doubled | left behind or wrong | stuck wrongly | recovery: median / longest | run |',
  '| --- | --: | --: | --: | --: | --: | --: | --: | --- |',
];

/** Puts figures into the table of docs/reliability.md, where each fault has its latest; gives the table. */
export async function keepFigures(figures: readonly Figures[], order: readonly string[]): Promise<string> {
  const page = await readFile(PAGE, 'utf8');
  const [before, rest] = page.split(FROM) as [string, string];
  const [table, after] = rest.split(TO) as [string, string];
  const rows = new Map([...table.matchAll(/^\| `([\w-]+)`.*$/gm)].map(([row, name]) => [name!, row]));
  for (const one of figures) rows.set(one.fault, rowOf(one));
  const kept = order.flatMap((name) => rows.get(name) ?? []);
  const text = [before, FROM, '\n\n', [...HEAD, ...kept].join('\n'), '\n\n', TO, after].join('');
  const formatted = await format(text, { parser: 'markdown', printWidth: 110 });
  await writeFile(PAGE, formatted);
  return formatted.slice(formatted.indexOf(FROM) + FROM.length, formatted.indexOf(TO)).trim();
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
