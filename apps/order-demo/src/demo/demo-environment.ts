import {
  DatabaseServer,
  DemoProcess,
  freePort,
  type KilledServer,
  RequestBalancer,
  RestateCluster,
  restateProgram,
  RestateServer,
  ThrowawayDatabase,
} from 'demo-support';
import { readEnvironment } from '../environment.js';
import { OrderClient } from './order-client.js';

/** Short, so that the loss of a worker is noticed in seconds; 30 s is a fair lease in production. */
export const LEASE = '2s';
/** Few, so that exhausted retries can be watched. The default is 10. */
const COMPENSATION_ATTEMPTS = 3;

/**
 * Everything that the scenarios play on: a database, an API process that runs no sagas, and two workers that
 * do.
 */
export class DemoEnvironment {
  readonly processes: DemoProcess[] = [];
  private opened: Promise<void> | undefined;
  private closed: Promise<void> | undefined;
  private readonly cleanUp: (() => Promise<void>)[] = [];
  private current: { database: ThrowawayDatabase; orders: OrderClient; url: string } | undefined;
  /** Undefined: PostgreSQL keeps the sagas. */
  restate: KilledServer | undefined;

  open(): Promise<void> {
    this.opened ??= this.setUp();
    return this.opened;
  }

  /** Ends the processes, and removes the database. May be called at any time, and again. */
  close(): Promise<void> {
    this.closed ??= this.tearDown();
    return this.closed;
  }

  get database(): ThrowawayDatabase {
    return this.set.database;
  }

  get orders(): OrderClient {
    return this.set.orders;
  }

  get url(): string {
    return this.set.url;
  }

  get workers(): DemoProcess[] {
    return this.processes.filter(({ name }) => name.startsWith('worker'));
  }

  /** @param heldBy as in a saga's timeline; a worker's name has its process id in the middle */
  workerCalled(heldBy: string | undefined): DemoProcess {
    const worker = this.workers.find(({ pid }) => heldBy?.includes(`:${pid}:`));
    if (!worker) throw new Error(`No worker of this demo is called ${heldBy}`);
    return worker;
  }

  private get set() {
    if (!this.current) throw new Error('The stage is not open');
    return this.current;
  }

  private async setUp(): Promise<void> {
    const server = await DatabaseServer.at(readEnvironment().databaseUrl);
    this.cleanUp.push(() => server.stop());
    const database = await ThrowawayDatabase.create(server.url, 'order_demo');
    this.cleanUp.push(() => database.drop());
    const env = {
      DATABASE_URL: database.url,
      SAGA_LEASE: LEASE,
      SAGA_COMPENSATION_ATTEMPTS: String(COMPENSATION_ATTEMPTS),
    };
    const engines = await this.engineOf(3);
    // All at the same time: the first process creates the tables.
    const [{ url }] = await Promise.all([
      this.start('API', 'main', { ...env, ...engines[0], PORT: '0', SAGA_WORKER: 'off' }),
      this.start('worker A', 'worker', { ...env, ...engines[1], SAGA_WORKER: 'on' }),
      this.start('worker B', 'worker', { ...env, ...engines[2], SAGA_WORKER: 'on' }),
    ]);
    this.current = { database, orders: new OrderClient(url!), url: url! };
  }

  /** Starts what keeps the sagas, unless that is PostgreSQL. @returns the variables of each process */
  private async engineOf(processes: number): Promise<NodeJS.ProcessEnv[]> {
    const { engine, nodes } = readEnvironment();
    if (engine === 'postgres') return [];
    const program = restateProgram();
    if (!program) throw new Error(`npm has no Restate server for ${process.platform} on ${process.arch}`);
    const restate = await (nodes > 1 ? RestateCluster : RestateServer).start(program);
    this.restate = restate;
    this.cleanUp.push(() => restate.stop());
    const ports = await Promise.all(Array.from({ length: processes }, freePort));
    // Restate reaches all of them at one address, so that one may be killed.
    const balancer = await RequestBalancer.over(ports);
    this.cleanUp.push(() => balancer.close());
    return ports.map((port) => ({
      ...{ RESTATE_INGRESS: restate.ingress, RESTATE_ADMIN: restate.admin },
      ...{ RESTATE_PORT: String(port), RESTATE_ADDRESS: balancer.address },
    }));
  }

  private async tearDown(): Promise<void> {
    await this.opened?.catch(() => undefined);
    for (const undo of this.cleanUp.reverse()) {
      await undo().catch((error: Error) => console.error(`While tidying up: ${error.message}`));
    }
  }

  private start(name: string, program: 'main' | 'worker', env: NodeJS.ProcessEnv) {
    const child = DemoProcess.start(name, new URL(`../${program}.js`, import.meta.url), env);
    this.processes.push(child);
    this.cleanUp.push(() => child.stop());
    return child.ready();
  }
}
