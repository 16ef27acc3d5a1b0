// A server of Restate, from npm's package for this system, with its data in a folder for temporary files.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

/** A server of one node, or a cluster whose nodes have a copy of what is stored on another one. */
export class RestateServer {
  #folder = mkdtempSync(join(tmpdir(), 'restate-bench-'));
  #nodes;

  /** @param {number} nodes of the cluster */
  async start(nodes = 1) {
    chmodSync(BINARY, 0o755);
    const ports = await freePorts(3 * nodes);
    const addresses = ports.slice(0, nodes).map((port) => `http://127.0.0.1:${port}`);
    const placeOf = (n) => ({ n, node: ports[n], ingress: ports[nodes + n], admin: ports[2 * nodes + n] });
    this.#nodes = addresses.map((_, n) => this.#spawn(placeOf(n), addresses));
    const first = placeOf(0);
    [this.ingress, this.admin] = [first.ingress, first.admin].map((port) => `http://127.0.0.1:${port}`);
    process.once('exit', () => this.#end());
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  }

  #spawn({ n, node, ingress, admin }, addresses) {
    const folder = join(this.#folder, `n${n}`);
    mkdirSync(folder);
    return spawn(BINARY, ['--no-logo'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        ...{ RESTATE_BASE_DIR: folder, RESTATE_NODE_NAME: `n${n}`, RESTATE_DISABLE_TELEMETRY: 'true' },
        ...{ RESTATE_LISTEN_MODE: 'tcp', RESTATE_BIND_IP: '127.0.0.1', RESTATE_BIND_PORT: String(node) },
        ...{ RESTATE_INGRESS__BIND_PORT: String(ingress), RESTATE_ADMIN__BIND_PORT: String(admin) },
        RESTATE_LOG_FILTER: 'error,octocrab=off',
        ...(addresses.length > 1 && inCluster(n, node, addresses)),
      },
    });
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
      if (Date.now() > deadline || this.#nodes.some(({ exitCode }) => exitCode !== null)) throw refused;
      await sleep(100);
    }
  }

  /** Rows of the server's own tables. */
  async query(sql) {
    return (await this.#post('/query', { query: sql })).rows;
  }

  async #post(path, body) {
    const response = await fetch(`${this.admin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Seconds of the processors so far; undefined where they cannot be seen. */
  cpu() {
    return this.#nodes.reduce((sum, { pid }) => sum + cpuOfProcess(pid), 0);
  }

  async stop() {
    const ended = this.#nodes.map((node) => once(node, 'exit'));
    this.#end();
    await Promise.all(ended);
  }

  #end() {
    for (const node of this.#nodes) node.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function inCluster(n, node, addresses) {
  return {
    ...{ RESTATE_CLUSTER_NAME: 'bench', RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}` },
    RESTATE_ROLES: '["http-ingress","admin","worker","log-server","metadata-server"]',
    ...{ RESTATE_AUTO_PROVISION: String(n === 0), RESTATE_DEFAULT_REPLICATION: '2' },
    RESTATE_METADATA_CLIENT__TYPE: 'replicated',
    RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(addresses),
  };
}
