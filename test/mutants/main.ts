import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { noticed } from './killing.js';
import { type Killer, misplaced, type Mutant, simulation, specs } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { type Fate, reportOf } from './report.js';
import { typeErrors } from './type-errors.js';
import { Workspace } from './workspace.js';

const ROOT = process.cwd();
// So that what tidies up at the end of this process does so.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    /** Parts of names. */
    only: { type: 'string', multiple: true, default: [''] },
    jobs: { type: 'string', default: '2' },
    /** The killers are known to be green, and the mutants to compile. */
    trusted: { type: 'boolean', default: false },
    /** A file for the table. */
    report: { type: 'string' },
  },
});

async function main(): Promise<void> {
  const mutants = MUTANTS.filter(({ name, file }) =>
    values.only.some((part) => `${name} ${file}`.includes(part)),
  );
  const errors = errorsIn(mutants);
  if (mutants.length === 0) errors.push('No mutant has such a name');
  if (errors.length > 0) throw new Error(errors.join('\n'));
  const server = await startServer(mutants);
  const workspaces = Array.from({ length: Number(values.jobs) }, () => new Workspace(ROOT));
  process.once('exit', () => workspaces.forEach((workspace) => workspace.remove()));
  try {
    if (!values.trusted) await requireGreen(mutants, workspaces[0]!);
    const fates = await play(mutants, workspaces);
    if (values.report !== undefined) writeFileSync(values.report, reportOf(fates));
    const survivors = fates.filter(({ caughtBy }) => caughtBy === undefined);
    const seconds = fates.reduce((sum, fate) => sum + fate.seconds, 0);
    console.log(`\n${fates.length} mutants, ${survivors.length} survived, ${seconds.toFixed(0)} s of work`);
    for (const { mutant } of survivors) console.log(`SURVIVED: ${mutant.name} (${mutant.file})`);
    if (survivors.length > 0) process.exitCode = 1;
  } finally {
    await server?.stop();
  }
}

function errorsIn(mutants: readonly Mutant[]): string[] {
  const textOf = ({ file }: Mutant) => readFileSync(join(ROOT, 'libs/saga/src', file), 'utf8');
  const places = mutants.flatMap((mutant) => misplaced(mutant, textOf(mutant)) ?? []);
  return places.length > 0 || values.trusted ? places : typeErrors(ROOT, mutants);
}

/** All killers, on what is not broken: whoever fails by itself notices nothing. */
async function requireGreen(mutants: readonly Mutant[], workspace: Workspace): Promise<void> {
  const killers = mutants.flatMap((mutant) => mutant.killers);
  const seeds = killers.map((killer) => (killer.kind === 'simulation' ? killer.seeds : 0));
  const paths = killers.flatMap((killer) => (killer.kind === 'specs' ? killer.paths : []));
  const all: Killer[] = [
    simulation(Math.max(0, ...seeds)),
    ...(paths.length > 0 ? [specs(...new Set(paths))] : []),
  ];
  for (const killer of all) {
    const wrong = await noticed(killer, workspace);
    if (wrong !== undefined) throw new Error(`Without any mutant: ${wrong}`);
  }
}

async function play(mutants: readonly Mutant[], workspaces: readonly Workspace[]): Promise<Fate[]> {
  const fates: Fate[] = [];
  const left = [...mutants];
  const work = async (workspace: Workspace) => {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const fate = await fateOf(mutant, workspace);
      fates.push(fate);
      const end = fate.caughtBy === undefined ? 'SURVIVED' : `caught by ${fate.caughtBy}`;
      console.log(`${fate.seconds.toFixed(0).padStart(4)} s  ${mutant.name}: ${end}`);
    }
  };
  await Promise.all(workspaces.map(work));
  return fates.sort((a, b) => mutants.indexOf(a.mutant) - mutants.indexOf(b.mutant));
}

function fateOf(mutant: Mutant, workspace: Workspace): Promise<Fate> {
  const began = performance.now();
  return workspace.with(mutant, async () => {
    let caughtBy: string | undefined;
    for (const killer of mutant.killers) {
      caughtBy = await noticed(killer, workspace);
      if (caughtBy !== undefined) break;
    }
    return { mutant, caughtBy, seconds: (performance.now() - began) / 1000 };
  });
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
