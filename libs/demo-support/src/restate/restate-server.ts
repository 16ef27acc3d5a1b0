import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
// By its place, since it is no public entry of the package.
import { freePort } from '../../../cli/dist/postgres/index.js';
import { ConnectionBalancer } from './connection-balancer.js';

const PROGRAM = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;
/** A machine that is busy takes its time. */
const STARTS_WITHIN = 60_000;

/** The server's program, which npm installs where there is one. */
export function restateProgram(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(PROGRAM);
  } catch {
    return undefined;
  }
}

/** A Restate server that tests kill. */
export interface KilledServer {
  readonly ingress: string;
  readonly admin: string;
  /** As if a machine had lost its power. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
  query(query: string): Promise<Record<string, unknown>[]>;
}

/** The place of a node in a cluster. */
interface Place {
  readonly name: string;
  readonly port: number;
  /** The addresses of all nodes. */
  readonly nodes: readonly string[];
}

/** A Restate server of one node, in a folder of its own. */
export class RestateServer implements KilledServer {
  private constructor(
    readonly ingress: string,
    readonly admin: string,
    private readonly folder: string,
    private readonly start: () => ChildProcess,
    private process: ChildProcess,
  ) {}

  static async start(program: string, place?: Place): Promise<RestateServer> {
    const folder = await mkdtemp(join(tmpdir(), 'restate-'));
    const [ingress, admin, own] = await Promise.all([freePort(), freePort(), freePort()]);
    const node = place?.port ?? own;
    const env = {
      ...process.env,
      ...(place && inCluster(place)),
      DO_NOT_TRACK: '1',
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_BASE_DIR: folder,
      RESTATE_BIND_IP: '127.0.0.1',
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_DEFAULT_NUM_PARTITIONS: '2',
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '128 MiB',
      RESTATE_LOG_FILTER: 'warn',
    };
    // Detached: ctrl-C in a terminal reaches the process that ends it in its order.
    const start = () => spawn(program, ['--no-logo'], { env, stdio: 'ignore', detached: true });
    const server = new RestateServer(
      `http://127.0.0.1:${ingress}`,
      `http://127.0.0.1:${admin}`,
      folder,
      start,
      start(),
    );
    await server.ready();
    return server;
  }

  /** As if the machine had lost its power. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Starts it again. After a kill it takes some 10 s until its partitions have a leader, and answer. */
  async restart(): Promise<void> {
    this.process = this.start();
    await this.ready();
    await this.query('SELECT service_key FROM state LIMIT 1');
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Asks it in SQL, again as long as it is not able to answer. */
  async query(query: string): Promise<Record<string, unknown>[]> {
    for (;;) {
      const answer = await this.asked(query).catch(() => undefined);
      if (answer?.ok) return (JSON.parse(answer.text) as { rows: Record<string, unknown>[] }).rows;
      if (answer && answer.status < 500) throw new Error(answer.text);
      await pause(50);
    }
  }

  /**
   * Waits until the objects have done all that they were sent, but for what is to come later. A saga that no process runs looks
   * at itself again and again.
   */
  async settled(): Promise<void> {
    // A message is on its way for a moment after one call has ended, and before the next one is there.
    for (let quiet = 0; quiet < 2;) {
      const [row] = await this.query(
        `SELECT count(*) AS calls FROM sys_invocation ` +
          `WHERE status NOT IN ('scheduled', 'completed') AND target_handler_name <> 'look'`,
      );
      quiet = Number(row!.calls) === 0 ? quiet + 1 : 0;
    }
  }

  private async asked(query: string) {
    const response = await fetch(new URL('/query', this.admin), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { ok, status } = response;
    return { ok, status, text: await response.text() };
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { process } = this;
    if (process.exitCode !== null || process.signalCode !== null) return;
    const ended = new Promise((resolve) => process.once('exit', resolve));
    process.kill(signal);
    await ended;
  }

  /** The ports of the ingress and of the admin API. */
  get ports(): readonly [ingress: number, admin: number] {
    return [Number(new URL(this.ingress).port), Number(new URL(this.admin).port)];
  }

  private async ready(): Promise<void> {
    const until = performance.now() + STARTS_WITHIN;
    for (;;) {
      const answers = await Promise.all(
        [new URL('/health', this.admin), new URL('/restate/health', this.ingress)].map((url) =>
          fetch(url).then(
            ({ ok }) => ok,
            () => false,
          ),
        ),
      );
      if (answers.every(Boolean)) return;
      if (performance.now() > until) throw new Error('The Restate server did not start');
      await pause(25);
    }
  }
}

function inCluster({ name, nodes }: Place) {
  return {
    RESTATE_CLUSTER_NAME: 'sagas',
    RESTATE_NODE_NAME: name,
    RESTATE_ROLES: '["http-ingress","admin","worker","log-server","metadata-server"]',
    RESTATE_AUTO_PROVISION: String(name === 'n0'),
    RESTATE_DEFAULT_REPLICATION: '2',
    RESTATE_METADATA_CLIENT__TYPE: 'replicated',
    RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(nodes),
    RESTATE_SHUTDOWN_TIMEOUT: '5s',
  };
}

const NODES = 3;

/** Three nodes, each with a copy of what is stored on another one, behind load balancers. */
export class RestateCluster implements KilledServer {
  private next = 0;
  private killed: RestateServer | undefined;

  private constructor(
    private readonly nodes: readonly RestateServer[],
    private readonly balancers: readonly [ingress: ConnectionBalancer, admin: ConnectionBalancer],
  ) {}

  static async start(program: string): Promise<RestateCluster> {
    const ports = await Promise.all(Array.from({ length: NODES }, freePort));
    const addresses = ports.map((port) => `http://127.0.0.1:${port}`);
    const nodes = await Promise.all(
      ports.map((port, n) => RestateServer.start(program, { name: `n${n}`, port, nodes: addresses })),
    );
    const before = (which: 0 | 1) => ConnectionBalancer.over(nodes.map((node) => node.ports[which]));
    return new RestateCluster(nodes, await Promise.all([before(0), before(1)]));
  }

  get ingress(): string {
    return this.balancers[0].address;
  }

  get admin(): string {
    return this.balancers[1].address;
  }

  /** Kills a node: another one each time. */
  async kill(): Promise<void> {
    this.killed = this.nodes[(this.next += 1) % NODES]!;
    await this.killed.kill();
  }

  async restart(): Promise<void> {
    await this.killed!.restart();
  }

  async stop(): Promise<void> {
    await Promise.all(this.balancers.map((balancer) => balancer.close()));
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /** Asks a node that is not killed. */
  query(query: string): Promise<Record<string, unknown>[]> {
    return this.nodes[this.next % NODES]!.query(query);
  }
}
