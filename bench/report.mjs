// node bench/report.mjs results/<time>.jsonl …: the tables again, from the lines of a run, or of several.
import { fileURLToPath } from 'node:url';
import { enginesTable } from './report/engines.mjs';
import { installedTable } from './report/installed.mjs';
import { goalsOf, goalsTable } from './report/goals.mjs';
import { readLines } from './report/lines.mjs';
import { measureTable, TABLES } from './report/measures.mjs';
import { memoryTable } from './report/memory.mjs';

/** Every table that there are lines for: { name, title, text }. */
export function tablesOf(lines) {
  return [
    { name: 'machine', title: 'The machine', text: machineText(lines) },
    { name: 'installed', title: 'As installed', text: ofMachine(lines, installedTable(lines)) },
    { name: 'engines', title: 'Engines', text: enginesTable(lines) },
    ...TABLES.map((spec) => ({ name: spec.name, title: spec.title, text: measureTable(lines, spec) })),
    { name: 'memory', title: 'Memory', text: memoryTable(lines) },
    { name: 'goals', title: 'Goals', text: goalsTable(goalsOf(lines)) },
  ].filter(({ text }) => text !== undefined);
}

/** A table that is measured on its own, with its machine. */
function ofMachine(lines, text) {
  return text && [machineText(lines), text].filter(Boolean).join('\n\n');
}

/** What it all was measured on; of several runs, the first says so. */
export function machineText(lines) {
  const machine = lines.find(({ metric }) => metric === 'machine');
  if (!machine) return undefined;
  const { version, processors, model, memory_gb, system, node, postgres, at, quick } = machine;
  return [
    `Version ${version}, ${at.slice(0, 10)}: ${processors} processors (${model}, ${system}), ${memory_gb} GB, `,
    `shared by Node ${node} and PostgreSQL ${postgres}.`,
    quick ? ' **A short run (`--quick`), to be replaced: no figures to rely on.**' : '',
  ].join('');
}

/** The tables as markdown, how many goals were missed, and how many runs did not complete. */
export function report(lines) {
  const incomplete = incompleteRuns(lines);
  const parts = tablesOf(lines).map(({ title, text }) => `### ${title}\n\n${text}`);
  return {
    text: [...parts, ...incomplete.map((run) => `INCOMPLETE: ${run}`)].join('\n\n'),
    missed: goalsOf(lines).filter(({ met }) => !met).length,
    incomplete: incomplete.length,
  };
}

/** A measure has a line for each metric: it is named once a round. */
function incompleteRuns(lines) {
  const names = lines
    .filter((l) => l.complete === false)
    .map(({ engine, variant, metric, measure, round }) =>
      measure ? `${measure}, round ${round}` : `${metric} of ${engine} ${variant}, round ${round}`,
    );
  return [...new Set(names)];
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(report(readLines(process.argv.slice(2))).text);
