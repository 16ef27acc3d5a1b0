import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { format } from 'oxfmt';
import type { Mutant } from './mutant.js';

/** What a run of a mutant's killers found. */
export interface Fate {
  readonly mutant: Mutant;
  /** The SQL function or the declaration that was broken. */
  readonly where: string;
  /** Undefined: it survived, or its killers did not end in time. */
  readonly caughtBy: string | undefined;
  /** A killer neither ended nor failed within the time that it had. */
  readonly isUndecided: boolean;
  readonly seconds: number;
}

const NOTHING = '**nothing**';
const UNDECIDED = '**not decided in time**';

/**
 * Writes the page with a row for each mutant that was run. Rows of earlier runs, which the page has, stay as long as the
 * list has their mutants.
 */
export async function writeReport(
  file: string,
  fates: readonly Fate[],
  all: readonly Mutant[],
): Promise<void> {
  const rows = existsSync(file) ? rowsIn(readFileSync(file, 'utf8')) : new Map<string, string>();
  for (const fate of fates) rows.set(cell(fate.mutant.name), rowOf(fate));
  writeFileSync(file, (await format(file, pageOf(rows, all))).code);
}

/** Those that the page has no row for, or that were not decided. */
export function leftToRun(file: string, mutants: readonly Mutant[]): Mutant[] {
  const rows = existsSync(file) ? rowsIn(readFileSync(file, 'utf8')) : new Map<string, string>();
  return mutants.filter(({ name }) => rows.get(cell(name))?.includes(UNDECIDED) ?? true);
}

function pageOf(rows: ReadonlyMap<string, string>, all: readonly Mutant[]): string {
  const names = all.map(({ name }) => cell(name));
  const run = names.flatMap((name) => rows.get(name) ?? []);
  const notRun = names.filter((name) => !rows.has(name));
  const survivors = run.filter((row) => row.includes(NOTHING)).length;
  const undecided = run.filter((row) => row.includes(UNDECIDED)).length;
  return `# Deliberate breaks of the library

A mutant is a deliberate break of the library's code. Tests that still pass with it are missing something. The list is in \`*.mutants.ts\` beside this page. Each mutant names the code that it replaces, and the specs, or the number of simulated scenarios, that have to notice it.

\`\`\`sh
npm run mutants                             # all of them; this takes hours
npm run mutants -- --only='lock'            # those with this in their name, or in the name of what they break
npm run mutants -- --check                  # run none: is each one's code there, and does it compile?
npm run mutants -- --jobs=1 --minutes=10    # one process at a time; a killer that takes longer decides nothing
npm run mutants -- --report=test/mutants/README.md   # with the rows of this run in this page
npm run mutants -- --report=test/mutants/README.md --left   # only those that this page has no row for
\`\`\`

The code is found wherever in the packages or \`test/models\` it is. File names, white space and trailing commas do not count. If the same code occurs twice, the mutant names the declaration or the SQL function with \`in\`. \`npm test\` checks that each mutant's code is in one place and that its specs exist.

Each row was written by a run of the mutant. It shows the first test, or the first invariant of the [simulation](../../docs/guarantees.md#the-simulation), that noticed it. ${run.length} of ${names.length} mutants were run; ${survivors} survived${undecided === 0 ? '' : `; ${undecided} were not decided in time`}.

| What was broken | Where | Noticed by |
| --- | --- | --- |
${run.join('\n')}
${notRun.length === 0 ? '' : `\n## Not run since this list was last changed\n\n${notRun.map((name) => `- ${name}`).join('\n')}\n`}`;
}

function rowOf({ mutant, where, caughtBy, isUndecided }: Fate): string {
  const end = caughtBy === undefined ? (isUndecided ? UNDECIDED : NOTHING) : cell(caughtBy);
  return `| ${cell(mutant.name)} | \`${where}\` | ${end} |`;
}

/** The rows of a page, by the names of their mutants. */
function rowsIn(page: string): Map<string, string> {
  const rows = page.split('\n').flatMap((line): [string, string][] => {
    const [, name, where, end] = /^\| (.+?) +\| `([^`]+)` +\| (.+?) +\|$/.exec(line) ?? [];
    return end === undefined ? [] : [[name!, `| ${name} | \`${where}\` | ${end} |`]];
  });
  return new Map(rows);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('*', '\\*');
}
