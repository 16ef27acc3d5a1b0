import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { NotInTime, noticed } from './killing.js';
import { Library } from './library.js';
import { type Killer, type Mutant, simulation, specs } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { missingTests } from './missing-tests.js';
import { type Fate, leftToRun, writeReport } from './report.js';
import { typeErrors } from './type-errors.js';
import { Workspace } from './workspace.js';

const ROOT = process.cwd();
/** All specs of all killers have this much time (ms) to show that they pass. */
const ALL_SPECS = 3_600_000;
// So that what tidies up at the end of this process does so.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    /** Parts of the names of mutants, or of the declarations that they break. */
    only: { type: 'string', multiple: true, default: [''] },
    /** Run none: is the code of each there, do they compile, and do the tests exist that have to notice them? */
    check: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
    /** A killer that takes longer decides nothing. */
    minutes: { type: 'string', default: '60' },
    /** The killers are known to pass, and the mutants to compile. */
    trusted: { type: 'boolean', default: false },
    /** A page for the rows of this run. */
    report: { type: 'string' },
    /** Only those that this page has no row for, or that were not decided. */
    left: { type: 'boolean', default: false },
  },
});
const library = Library.in(ROOT);
const longest = Number(values.minutes) * 60_000;

async function main(): Promise<void> {
  const named = MUTANTS.filter((mutant) => {
    const places = library.placesOf(mutant).map(whereOf);
    return values.only.some((part) => [mutant.name, ...places].join(' ').includes(part));
  });
  const mutants = values.left ? leftToRun(values.report ?? '', named) : named;
  const errors = errorsIn(mutants);
  if (mutants.length === 0) errors.push(`No mutant has '${values.only.join("' or '")}' in its name.`);
  if (values.check) errors.push(...missingTests(ROOT, mutants));
  if (errors.length > 0) throw new Error(errors.join('\n'));
  if (values.check) return console.log(`${mutants.length} mutants can be applied, and compile`);
  const server = await startServer(mutants);
  const workspaces = Array.from({ length: Number(values.jobs) }, () => new Workspace(ROOT));
  process.once('exit', () => workspaces.forEach((workspace) => workspace.remove()));
  try {
    if (!values.trusted) await requireGreen(mutants, workspaces[0]!);
    const fates = await play(mutants, workspaces);
    const survivors = fates.filter(({ caughtBy }) => caughtBy === undefined);
    const seconds = fates.reduce((sum, fate) => sum + fate.seconds, 0);
    console.log(`\n${fates.length} mutants, ${survivors.length} not caught, ${seconds.toFixed(0)} s of work`);
    for (const fate of survivors) console.log(`${endOf(fate)}: ${fate.mutant.name} (${fate.where})`);
    if (survivors.length > 0) process.exitCode = 1;
  } finally {
    await server?.stop();
  }
}

/** A constant outside of all declarations has the name of its file. */
function whereOf({ sqlFunction, declaration, file }: ReturnType<Library['placeOf']>): string {
  return sqlFunction ?? (declaration || basename(file));
}

function errorsIn(mutants: readonly Mutant[]): string[] {
  const problems = mutants.flatMap((mutant) => library.problemOf(mutant) ?? []);
  return problems.length > 0 || values.trusted ? problems : typeErrors(ROOT, mutants, library);
}

/** Runs all killers without a mutant. A killer that already fails cannot detect a mutant. */
async function requireGreen(mutants: readonly Mutant[], workspace: Workspace): Promise<void> {
  const killers = mutants.flatMap((mutant) => mutant.killers);
  const seeds = killers.map((killer) => (killer.kind === 'simulation' ? killer.seeds : 0));
  const names = killers.flatMap((killer) => (killer.kind === 'specs' ? killer.names : []));
  const all: Killer[] = [
    simulation(Math.max(0, ...seeds)),
    ...(names.length > 0 ? [specs(...new Set(names))] : []),
  ];
  for (const killer of all) {
    const wrong = await noticed(killer, workspace, ALL_SPECS);
    if (wrong !== undefined) throw new Error(`Without any mutant: ${wrong}`);
  }
}

async function play(mutants: readonly Mutant[], workspaces: readonly Workspace[]): Promise<Fate[]> {
  const fates: Fate[] = [];
  const left = [...mutants];
  const work = async (workspace: Workspace) => {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const fate = await scriptedOutcome(mutant, workspace);
      fates.push(fate);
      console.log(`${fate.seconds.toFixed(0).padStart(4)} s  ${mutant.name}: ${endOf(fate)}`);
      // After each, so that a run that is ended loses nothing.
      if (values.report !== undefined) await writeReport(values.report, [fate], MUTANTS);
    }
  };
  await Promise.all(workspaces.map(work));
  return fates;
}

function endOf({ caughtBy, isUndecided }: Fate): string {
  if (caughtBy !== undefined) return `caught by ${caughtBy}`;
  return isUndecided ? 'NOT DECIDED' : 'SURVIVED';
}

async function scriptedOutcome(mutant: Mutant, workspace: Workspace): Promise<Fate> {
  const began = performance.now();
  let isUndecided = false;
  const caughtBy = await workspace.with(mutant, async () => {
    for (const killer of mutant.killers) {
      const found = await noticed(killer, workspace, longest).catch((error: unknown) => {
        if (!(error instanceof NotInTime)) throw error;
        isUndecided = true;
        return undefined;
      });
      if (found !== undefined) return found;
    }
    return undefined;
  });
  const where = whereOf(library.placeOf(mutant));
  return { mutant, where, caughtBy, isUndecided, seconds: (performance.now() - began) / 1000 };
}

/** One PostgreSQL for all tests; each makes a database of its own on it. */
async function startServer(mutants: readonly Mutant[]): Promise<{ stop(): Promise<void> } | undefined> {
  const needsOne = mutants.some(({ killers }) => killers.some(({ kind }) => kind === 'specs'));
  if (!needsOne || process.env.TEST_DATABASE_URL) return undefined;
  const module = join(ROOT, 'test/support/embedded-postgres.mjs');
  const { startEmbeddedPostgres } = (await import(module)) as {
    startEmbeddedPostgres(): Promise<{ url: string; stop(): Promise<void> }>;
  };
  const server = await startEmbeddedPostgres();
  process.env.TEST_DATABASE_URL = server.url;
  return server;
}

await main();
