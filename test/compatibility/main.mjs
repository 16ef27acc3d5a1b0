/**
 * `npm run compat`: the packed library in consumers' projects, over versions of Node, Nest, TypeORM and PostgreSQL, module
 * formats and compilers. `-- --list` tells the rows, `-- --only=nest11,pgbouncer` runs those whose names contain one of
 * these, `-- --quick` runs the few that have each value, `-- --keep` leaves the projects where they are, and
 * `-- --report=file.json` writes how many rows passed and which failed. Ends with 1 if a row fails.
 */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FOREIGN, tryForeign } from './foreign.mjs';
import { Installations, packPackages } from './installation.mjs';
import { LAYOUTS } from './layouts.mjs';
import { BESIDE_OTHERS } from './other-versions.mjs';
import { Projects } from './projects.mjs';
import { tableOf } from './report.mjs';
import { QUICK, ROWS } from './rows.mjs';
import { Servers } from './servers.mjs';
import { installedRow, tryRow } from './try-row.mjs';

/** Rows at a time; one waits for npm or a database while another compiles. */
const AT_ONCE = 2;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean' },
    list: { type: 'boolean' },
    keep: { type: 'boolean' },
    report: { type: 'string' },
  },
});
const ALL = [...ROWS, ...FOREIGN, ...LAYOUTS, ...BESIDE_OTHERS];
const rows = ALL.filter(
  ({ name }) =>
    (!values.only || values.only.split(',').some((part) => name.includes(part))) &&
    (!values.quick || QUICK.includes(name)),
);
if (rows.length === 0) throw new Error(`No row is named like ${values.only}; --list tells them.`);
if (values.list) for (const row of rows) console.log(row.name, JSON.stringify(row));
else process.exitCode = (await tryAll()) ? 0 : 1;

async function tryAll() {
  const folder = await mkdtemp(join(tmpdir(), 'saga-compat-'));
  // PostgreSQL refuses to run as root, and is another user then, who has to reach its binaries.
  await chmod(folder, 0o755);
  const installations = new Installations(folder, await packPackages(folder));
  const servers = new Servers(installations);
  const projects = new Projects();
  const installed = installAll(installations, servers);
  const [tried, waiting] = [[], [...rows]];
  const work = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift())
      tried.push(await timed(row, { installations, projects, servers }));
  };
  try {
    await Promise.all([installed, ...Array.from({ length: AT_ONCE }, work)]);
  } finally {
    await servers.stop();
    if (values.keep) console.log(`Kept: ${folder}`);
    else await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  const failures = tried.filter(({ outcome }) => outcome.result === 'failed').map(failureOf);
  const failed = failures.length;
  const skipped = tried.filter(({ outcome }) => outcome.result === 'skipped').length;
  console.log(`\n${tableOf(inOrder(tried))}\n`);
  const passed = tried.length - failed - skipped;
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (values.report) await writeFile(values.report, JSON.stringify({ passed, failed, skipped, failures }));
  return failed === 0;
}

/** One installation follows the other while rows run. A row whose installation fails reports that itself. */
async function installAll(installations, servers) {
  const usesDocker = await servers.useDocker();
  const all = rows.flatMap((row) => [
    row.installed ? row.installed(installations) : installedRow(row, installations),
    ...(usesDocker && row.between !== 'losses' ? [] : [servers.installed(row.postgres)]),
  ]);
  await Promise.allSettled(all);
}

async function timed(row, parts) {
  const began = performance.now();
  const outcome = await (row.tried ? tryForeign : tryRow)(row, parts);
  const seconds = (performance.now() - began) / 1_000;
  console.log(`${row.name}: ${outcome.result} (${seconds.toFixed(1)} s)`);
  if (outcome.reason) console.log(`  ${outcome.reason.replaceAll('\n', '\n  ')}`);
  return { row, outcome, seconds };
}

function failureOf({ row, outcome }) {
  return { name: row.name, why: outcome.reason };
}

function inOrder(tried) {
  return [...tried].sort((a, b) => ALL.indexOf(a.row) - ALL.indexOf(b.row));
}
