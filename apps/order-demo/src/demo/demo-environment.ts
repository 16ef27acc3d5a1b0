import { DatabaseServer, DemoProcess, ThrowawayDatabase } from 'demo-support';
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
    // All at the same time: the first process creates the tables.
    const [{ url }] = await Promise.all([
      this.start('API', 'main', { ...env, PORT: '0', SAGA_WORKER: 'off' }),
      this.start('worker A', 'worker', { ...env, SAGA_WORKER: 'on' }),
      this.start('worker B', 'worker', { ...env, SAGA_WORKER: 'on' }),
    ]);
    this.current = { database, orders: new OrderClient(url!), url: url! };
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
