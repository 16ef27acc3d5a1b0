import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { LocalPostgres } from './local-postgres.js';
import { PostgresStartError } from './postgres-start-error.js';

/** Where data is kept that root's private folders would hide from the server's account. */
const SYSTEM_FOLDER = '/var/lib/nestjs-durable-saga';
const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]'];

/** A PostgreSQL of a project's own, to develop with. */
export interface DevelopmentServer {
  readonly process: ChildProcess;
  readonly dataDir: string;
}

/**
 * Starts the server that a URL names, with the project's data, which it creates first when there is none.
 * @throws PostgresStartError when it does not start
 */
export async function startDevelopmentServer(root: string, url: URL): Promise<DevelopmentServer> {
  if (!THIS_MACHINE.includes(url.hostname))
    throw new PostgresStartError(
      'UNKNOWN',
      `DATABASE_URL names the server ${url.hostname}, which is not this machine. Unset it, or name localhost.`,
    );
  const { postgres, dataDir } = find(root);
  const user = decodeURIComponent(url.username) || 'postgres';
  const port = Number(url.port || 5432);
  if (!existsSync(join(dataDir, 'PG_VERSION')))
    await postgres.initialise(dataDir, {
      user,
      password: decodeURIComponent(url.password) || 'postgres',
    });
  try {
    const settings = { listen_addresses: 'localhost', unix_socket_directories: '' };
    return { process: await postgres.launch(dataDir, { port, settings }), dataDir };
  } catch (error) {
    throw error instanceof PostgresStartError && error.code === 'PORT_IN_USE' ? portInUse(url, error) : error;
  }
}

/**
 * The folder of a project's data.
 * @throws PostgresStartError when the server is not installed
 */
export function developmentDataOf(root: string): string {
  return find(root).dataDir;
}

function find(root: string) {
  const own = join(root, '.postgres');
  const postgres = LocalPostgres.find(root, existsSync(own) ? own : undefined);
  return { postgres, dataDir: postgres.reaches(root) ? own : systemFolderOf(root) };
}

function systemFolderOf(root: string): string {
  const name = `${basename(root)}-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`;
  mkdirSync(SYSTEM_FOLDER, { recursive: true, mode: 0o755 });
  return join(SYSTEM_FOLDER, name);
}

function portInUse(url: URL, cause: PostgresStartError): PostgresStartError {
  const port = Number(url.port || 5432);
  const other = new URL(url);
  other.port = String(port + 1);
  return new PostgresStartError(
    'PORT_IN_USE',
    `Port ${port} is in use by another program: this may be another PostgreSQL. Stop that program, or use another port, ` +
      `for this command and for the application: export DATABASE_URL=${other.href}`,
    { cause },
  );
}
