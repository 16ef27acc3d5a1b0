import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { endServer, LocalPostgres } from './local-postgres.js';
import { PostgresStartError } from './postgres-start-error.js';

/** Where data is kept that root's private folders would hide from the server's account. */
const SYSTEM_FOLDER = '/var/lib/nestjs-durable-saga';
/** The setting with the id of the process that started a server. */
const OWNER = 'saga.owner';
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
    const settings = {
      listen_addresses: 'localhost',
      unix_socket_directories: '',
      [OWNER]: process.pid,
    };
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
  const other = atPort(url, port + 1);
  return new PostgresStartError(
    'PORT_IN_USE',
    `Port ${port} is in use by another program: this may be another PostgreSQL. Stop that program, or use another port, ` +
      `for this command and for the application: export DATABASE_URL=${other.href}`,
    { cause },
  );
}

/** Creates the database that a URL names, if it does not exist: a new server has only `postgres`. */
export async function createDatabase(url: URL): Promise<void> {
  const name = decodeURIComponent(url.pathname.slice(1));
  if (name === '' || name === 'postgres') return;
  const first = new URL(url);
  first.pathname = '/postgres';
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: first.href });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rows.length === 0) await client.query(`CREATE DATABASE "${name.replaceAll('"', '""')}"`);
  } finally {
    await client.end();
  }
}

/** A PostgreSQL server that a command started, or that an earlier one left. */
export interface EmbeddedServer {
  readonly url: string;
  /** The folder of its data. */
  readonly dataDir: string;
  /** Ends the server, unless another process that is still running has started it. */
  stop(): Promise<void>;
}

/** How long (ms) a server that is not our child may take to end. */
const LONGEST_END = 10_000;

/**
 * Starts a server with the data of a folder's `.postgres`: at the URL, or at another port if that one is in use. If the
 * server of this data is running, that one is used: a process that was killed has left it, or shares it.
 * @throws PostgresStartError
 */
export async function startEmbedded(root: string, url: URL): Promise<EmbeddedServer> {
  const running = await runningServer(root, url);
  if (running !== undefined) return running;
  try {
    return await startOwn(root, url);
  } catch (error) {
    if (!(error instanceof PostgresStartError && error.code === 'PORT_IN_USE')) throw error;
    return await startOwn(root, atPort(url, await freePort()));
  }
}

async function startOwn(root: string, url: URL): Promise<EmbeddedServer> {
  const { process: child, dataDir } = await startDevelopmentServer(root, url);
  return { url: url.href, dataDir, stop: () => endServer(child) };
}

function atPort(url: URL, port: number | string): URL {
  const other = new URL(url);
  other.port = String(port);
  return other;
}

/** The server that is running on this folder's data. */
async function runningServer(root: string, given: URL): Promise<EmbeddedServer | undefined> {
  const dataDir = developmentDataOf(root);
  const lines = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const [pid, , , port] = lines;
  if (!pid || !port) return undefined;
  const url = atPort(given, port);
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url.href, connectionTimeoutMillis: 2_000 });
  try {
    await client.connect();
    const { rows } = await client.query<{ folder: string; owner: string | null }>(
      `SELECT current_setting('data_directory') AS folder, current_setting('${OWNER}', true) AS owner`,
    );
    const { folder, owner } = rows[0]!;
    if ((await realpath(folder)) !== (await realpath(dataDir))) return undefined;
    const isOwned = isAlive(Number(owner));
    return { url: url.href, dataDir, stop: async () => (isOwned ? undefined : endProcess(Number(pid))) };
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
    // 0 is this process's group.
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}
