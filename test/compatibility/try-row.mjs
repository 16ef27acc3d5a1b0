import { run } from './commands.mjs';
import { breakConnections } from './losses.mjs';
import { nodeBinary } from './node-binary.mjs';
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.mjs';
import { NODES, SETS } from './rows.mjs';

/** Milliseconds that a program may run, also beside all other tests on two busy processors. */
const LONGEST_RUN = 400_000;

/**
 * @typedef {object} Outcome
 * @property {'ok' | 'failed' | 'skipped'} result
 * @property {Record<string, string>} [versions] as the program itself found them
 * @property {string} [reason] of a failure or a skip
 */

/**
 * Installs, builds and runs a row.
 * @param {import('./rows.mjs').Row} row
 * @param {{ installations: import('./installation.mjs').Installations, projects: import('./projects.mjs').Projects,
 * servers: import('./servers.mjs').Servers }} parts
 * @returns {Promise<Outcome>}
 */
export async function tryRow(row, { installations, projects, servers }) {
  if (row.between === 'pgbouncer' && !findPgbouncer())
    return { result: 'skipped', reason: 'pgbouncer is not installed (Debian: apt-get install pgbouncer)' };
  const stops = [];
  try {
    const [installation, node] = await installedRow(row, installations);
    if (row.without) await hasNone(row.without, installation);
    const { project, file } = await projects.built(row, installation, node);
    const { url, onLine, done } = await databaseOf(row, servers, stops);
    const env = { ...process.env, DATABASE_URL: url, NODE_OPTIONS: '' };
    const output = await run(node, [file], { cwd: project, env, onLine, longest: LONGEST_RUN });
    await done?.();
    return { result: 'ok', versions: JSON.parse(output.trim().split('\n').at(-1)) };
  } catch (error) {
    return { result: 'failed', reason: error.stack };
  } finally {
    for (const stop of stops) await stop();
  }
}

/** @throws an error if one of these packages is anywhere in the installation */
async function hasNone(packages, installation) {
  // npm ends with 1 if it lists none.
  const listed = await run('npm', ['ls', '--all', ...packages], { cwd: installation }).catch(
    (error) => error.message,
  );
  if (!listed.includes('(empty)'))
    throw new Error(`Expected none of ${packages.join(', ')}, and npm ls lists:\n${listed}`);
}

/** What a row needs of npm: the packages of its set, and its Node. */
export function installedRow(row, installations) {
  return Promise.all([
    installations.ofSet(row.set, SETS[row.set]),
    nodeBinary(installations, NODES[row.node]),
  ]);
}

async function databaseOf({ postgres, between }, servers, stops) {
  if (between === 'losses') {
    const server = await servers.ownServer(postgres);
    stops.push(() => server.stop());
    return { url: server.url, ...breakConnections(server) };
  }
  const url = await servers.database(postgres);
  if (between !== 'pgbouncer') return { url };
  const pooler = await startPgbouncer(findPgbouncer(), url);
  stops.push(pooler.stop);
  return { url: pooler.url };
}
