// node bench/publish.mjs [--beside] results/<time>.jsonl …: what docs/performance.md shows: its tables, its charts, and every
// figure as JSON. Of several runs, those of one machine that belong together. What a run has not measured is kept from earlier
// ones, and its table says when and on what it was measured. --beside publishes a run of a few measures beside the last run of
// all engines. --capacity writes docs/capacity.md alone, from the published figures.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeCharts } from './charts.mjs';
import { capacitySections } from './report/capacity.mjs';
import { figuresOf, figuresWith, publishedGoals } from './report/figures.mjs';
import { publishedGoalsTable } from './report/goals.mjs';
import { readLines } from './report/lines.mjs';
import { machineText, report, tablesOf } from './report.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const [PAGE, JSON_FILE] = [at('../docs/performance.md'), at('../docs/performance.json')];
const CAPACITY = at('../docs/capacity.md');

/** Charts by the table that they are shown above. */
const SHOWN = {
  engines: ['throughput', 'latency'],
  'in-flight': ['in-flight', 'in-flight-latency'],
  processes: ['processes'],
  steps: ['steps'],
  payloads: ['payloads'],
  grown: ['database'],
};
const MARKED = /(<!-- figures:([\w-]+) -->)([\s\S]*?)(<!-- \/figures:\2 -->)/g;

/** The page with what stands between its markers replaced, where there is something new; all else is kept. */
export function withFigures(page, sections) {
  return page.replace(MARKED, (all, open, name, _text, close) =>
    sections[name] === undefined ? all : `${open}\n\n${sections[name]}\n\n${close}`,
  );
}

/** { name: markdown }: the charts that were drawn, then the table. */
export function sectionsOf(lines, charts) {
  return Object.fromEntries(
    tablesOf(lines).map(({ name, title, text }) => [
      name,
      [...imagesOf(name, title, charts), text].join('\n\n'),
    ]),
  );
}

/** Those of a run of a few measures, each with its machine. The page's machine is that of the run of all engines. */
export function sectionsBeside(lines, charts) {
  const { machine, ...sections } = sectionsOf(lines, charts);
  // Those are of all that is published.
  delete sections.goals;
  const measured = ([name, text]) => [name, text.startsWith(machine) ? text : `${machine}\n\n${text}`];
  return Object.fromEntries(Object.entries(sections).map(measured));
}

/** What stays on the page of the last run of all engines, with that run's machine, which the page does not name any more. */
export function sectionsKept(page, { machine, measures }, names) {
  const of = machineText([{ metric: 'machine', ...machine }]);
  const kept = [...page.matchAll(MARKED)].filter(([, , name]) => measures[name] && !names.includes(name));
  return Object.fromEntries(kept.map(([, , name, text]) => [name, `${of}\n\n${text.trim()}`]));
}

function imagesOf(name, title, charts) {
  const shown = (SHOWN[name] ?? []).filter((chart) => charts.includes(chart));
  return shown.map((chart) => `![${title}: ${chart}](images/performance/${chart}.svg)`);
}

/** What makes figures of several runs comparable. */
const SAME = ['version', 'processors', 'model', 'memory_gb', 'system', 'node', 'postgres'];

/** @throws Error where runs were made on machines, or with versions, that differ */
export function refuseMixture(lines) {
  const machines = lines.filter(({ metric }) => metric === 'machine');
  for (const name of SAME) {
    const values = [...new Set(machines.map((machine) => machine[name]))];
    if (values.length > 1)
      throw new Error(`These runs do not belong together: ${name} is ${values.join(', ')}.`);
  }
}

async function write(path, content) {
  const { format } = await import('oxfmt');
  const { code, errors } = await format(path, content, { printWidth: 110, singleQuote: true });
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  writeFileSync(path, code);
}

/** What is computed from the published figures. */
const writeCapacity = (published) =>
  write(CAPACITY, withFigures(readFileSync(CAPACITY, 'utf8'), capacitySections(published)));

async function main(files, beside) {
  if (files.length === 0)
    throw new Error('Give the results: node bench/publish.mjs bench/results/<time>.jsonl');
  const lines = readLines(files);
  refuseMixture(lines);
  const { incomplete } = report(lines);
  if (incomplete > 0) throw new Error(`${incomplete} run(s) did not complete: nothing is published.`);
  const sections = (beside ? sectionsBeside : sectionsOf)(lines, writeCharts(lines));
  const [page, before] = [readFileSync(PAGE, 'utf8'), JSON.parse(readFileSync(JSON_FILE, 'utf8'))];
  const published = figuresWith(before, figuresOf(lines), { beside });
  sections.goals = publishedGoalsTable(publishedGoals(published));
  const kept = beside ? {} : sectionsKept(page, before, Object.keys(sections));
  await write(PAGE, withFigures(page, { ...kept, ...sections }));
  await write(JSON_FILE, JSON.stringify(published));
  await writeCapacity(published);
  console.log(`docs/performance.md: ${Object.keys(sections).join(', ')}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flag = { type: 'boolean', default: false };
  const options = { beside: flag, capacity: flag };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.capacity) await writeCapacity(JSON.parse(readFileSync(JSON_FILE, 'utf8')));
  else await main(positionals, values.beside);
}
