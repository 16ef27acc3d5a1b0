// What a run was made on, as the first line of its results.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const NEEDED = 22;

/** One Node for all engines and measures. Some peers need 22: npm brings its binary where the current one is older. */
export function nodeBinary() {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED) return process.execPath;
  const folder = fileURLToPath(new URL('node_modules/node/bin/', import.meta.url));
  const [found] = ['node', 'node.exe'].map((name) => `${folder}${name}`).filter((path) => existsSync(path));
  if (!found) throw new Error(`The benchmark needs Node ${NEEDED}; npm's binary of it is not installed.`);
  return found;
}

export async function machine(node, url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('SHOW server_version');
  await client.end();
  const library = new URL('../libs/saga/package.json', import.meta.url);
  return {
    metric: 'machine',
    version: JSON.parse(readFileSync(library, 'utf8')).version,
    // What `taskset` leaves to the run.
    processors: availableParallelism(),
    model: cpus()[0]?.model.trim() ?? '',
    memory_gb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${arch()}`,
    node: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().replace('v', ''),
    postgres: rows[0].server_version.split(' ')[0],
    at: new Date().toISOString(),
  };
}
