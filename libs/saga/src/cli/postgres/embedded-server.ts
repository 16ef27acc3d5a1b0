import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from './create-database.js';
import { developmentDataOf, startDevelopmentServer } from './development-server.js';
import { endServer } from './end-server.js';

/** A PostgreSQL server that a command started, or that an earlier one left. */
export interface EmbeddedServer {
  stop(): Promise<void>;
}

/** How long (ms) a server that is not our child may take to end. */
const LONGEST_END = 10_000;

/**
 * Starts the server that a URL names, with the data of a folder's `.postgres`, and creates its database. If a process was
 * killed and has left its server, that one is used.
 * @throws PostgresStartError
 */
export async function startEmbedded(root: string, url: URL): Promise<EmbeddedServer> {
  const left = await leftServer(root, url);
  if (left !== undefined) return { stop: () => endProcess(left) };
  const { process: child } = await startDevelopmentServer(root, url);
  const server = { stop: () => endServer(child) };
  try {
    await createDatabase(url);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The process of the server that answers at the URL, if its data is that of this folder. */
async function leftServer(root: string, url: URL): Promise<number | undefined> {
  const dataDir = developmentDataOf(root);
  const [pid] = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  if (!pid) return undefined;
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url.href, connectionTimeoutMillis: 2_000 });
  try {
    await client.connect();
    const { rows } = await client.query<{ folder: string }>(
      `SELECT current_setting('data_directory') AS folder`,
    );
    return (await realpath(rows[0]!.folder)) === (await realpath(dataDir)) ? Number(pid) : undefined;
  } catch {
    // It does not answer: the start explains why it cannot start another one.
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function endProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT');
  const until = performance.now() + LONGEST_END;
  while (isAlive(pid) && performance.now() < until) await sleep(50);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
