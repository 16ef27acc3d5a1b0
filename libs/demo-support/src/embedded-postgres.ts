import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
// By its place, since it is no public entry of the package.
import { endServer, freePort, LocalPostgres, PostgresStartError } from '../../cli/dist/postgres/index.js';
import type { EmbeddedServerMessage } from './database-server.js';

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  // No socket files that would be left behind.
  unix_socket_directories: '',
  max_connections: 200,
};

/**
 * A program of its own that DatabaseServer forks: a real PostgreSQL from npm, with fresh data in a temporary
 * directory, on a free port. It lives as long as the channel to its parent, and removes everything then.
 */
async function run(): Promise<void> {
  const parentGone = Promise.race([once(process, 'disconnect'), once(process, 'SIGTERM')]);
  let dataDir: string | undefined;
  try {
    const postgres = LocalPostgres.find(fileURLToPath(new URL('.', import.meta.url)));
    dataDir = postgres.temporaryFolder('demo-postgres-');
    const [port, password] = [await freePort(), randomBytes(12).toString('hex')];
    await postgres.initialise(dataDir, { user: 'postgres', password });
    const server = await postgres.launch(dataDir, { port, settings: SETTINGS });
    await tell({ url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` });
    await parentGone;
    await endServer(server);
  } catch (error) {
    const portInUse = error instanceof PostgresStartError && error.code === 'PORT_IN_USE';
    await tell({ error: error instanceof Error ? error.message : String(error), portInUse });
  } finally {
    if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** To the parent, if it is still there. */
function tell(message: EmbeddedServerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) resolve();
    else process.send!(message, () => resolve());
  });
}

await run();
process.exit(0);
