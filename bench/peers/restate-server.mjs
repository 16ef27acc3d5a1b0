// A server of Restate, from npm's package for this system, with its data in a folder for temporary files.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from '../lib/figures.mjs';
import { cpuOfProcess } from '../lib/server-cpu.mjs';

const PACKAGE = `../node_modules/@restatedev/restate-server-${process.platform}-${process.arch}`;
const BINARY = fileURLToPath(new URL(`${PACKAGE}/bin/restate-server`, import.meta.url));
/** ms within which it accepts the deployment. */
const START = 30_000;

/** The version of the package for this system; undefined if it is not installed. */
export function serverPackage() {
  if (!existsSync(BINARY)) return undefined;
  return JSON.parse(readFileSync(new URL(`${PACKAGE}/package.json`, import.meta.url), 'utf8')).version;
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  for (const server of servers) server.close();
  return ports;
}

export class RestateServer {
  #folder = mkdtempSync(join(tmpdir(), 'restate-bench-'));
  #child;
  #admin;

  async start() {
    chmodSync(BINARY, 0o755);
    const [node, ingress, admin] = await freePorts(3);
    [this.ingress, this.#admin] = [ingress, admin].map((port) => `http://127.0.0.1:${port}`);
    this.#child = spawn(BINARY, ['--no-logo'], {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        ...{ RESTATE_BASE_DIR: this.#folder, RESTATE_NODE_NAME: 'bench', RESTATE_DISABLE_TELEMETRY: 'true' },
        ...{ RESTATE_LISTEN_MODE: 'tcp', RESTATE_BIND_IP: '127.0.0.1', RESTATE_BIND_PORT: String(node) },
        ...{ RESTATE_INGRESS__BIND_PORT: String(ingress), RESTATE_ADMIN__BIND_PORT: String(admin) },
        RESTATE_LOG_FILTER: 'error,octocrab=off',
      },
    });
    process.once('exit', () => this.#end());
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  }

  /** Makes the services of the endpoint known, as soon as the server accepts it. */
  async register(uri) {
    const deadline = Date.now() + START;
    for (;;) {
      const refused = await this.#post('/deployments', { uri }).then(
        () => undefined,
        (error) => error,
      );
      if (!refused) return;
      if (Date.now() > deadline || this.#child.exitCode !== null) throw refused;
      await sleep(100);
    }
  }

  /** Rows of the server's own tables. */
  async query(sql) {
    return (await this.#post('/query', { query: sql })).rows;
  }

  async #post(path, body) {
    const response = await fetch(`${this.#admin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Seconds of the processors so far; undefined where they cannot be seen. */
  cpu() {
    return cpuOfProcess(this.#child.pid);
  }

  async stop() {
    const ended = once(this.#child, 'exit');
    this.#end();
    await ended;
  }

  #end() {
    this.#child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
