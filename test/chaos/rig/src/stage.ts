import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SagaService } from 'nestjs-durable-saga';
import pg from 'pg';
import { type EmbeddedServer, startEmbeddedPostgres } from '../../../support/embedded-postgres.mjs';
import type { Chance } from './chance.js';
import { RigDaemon } from './daemon/rig-daemon.js';
import { EFFECTS, Participants } from './programs/participants.js';
import { LEDGER, RIG_SAGAS } from './programs/rig-sagas.js';
import { rollingSaga } from './programs/rolling.saga.js';
import { sagaModules } from './programs/saga-modules.js';
import { type Replication, ServerPair } from './server-pair.js';
import { SmallDisk } from './small-disk.js';
import { TcpProxy } from './tcp-proxy.js';
import { WorkerProcess } from './worker-process.js';

/** The lease of the workers, in milliseconds. */
export const LEASE = 5_000;
const WORKERS = 3;

/** Something that goes wrong, again and again. */
export interface Fault {
  readonly name: string;
  /** What it does, in a sentence. */
  readonly what: string;
  /** Settings of the sagas' PostgreSQL, as in postgresql.conf. */
  readonly settings?: Record<string, string | number>;
  /** The sagas' PostgreSQL lives on a disk of this size, which needs the right to mount one. */
  readonly diskMegabytes?: number;
  /** The sagas' PostgreSQL has a standby. */
  readonly standby?: Replication;
  /** The sagas are on two shards, each with a server of its own. */
  readonly shards?: true;
  /** The sagas are run by a daemon (`saga serve`) and started over REST, instead of by the workers. */
  readonly daemon?: true;
  /** Makes it happen once, and resolves when it is over. */
  inject(stage: DemoEnvironment): Promise<void>;
  /** Prepares the next injection, once the system has recovered. */
  repair?(stage: DemoEnvironment): Promise<void>;
}

/** A shard whose server can be lost. */
interface LostShard {
  readonly server: EmbeddedServer;
  readonly sagas: pg.Pool;
}

/**
 * Everything that a fault can reach: the sagas' PostgreSQL, the way to it, the workers, and the application
 * that starts sagas.
 */
export class DemoEnvironment {
  readonly workers: WorkerProcess[] = [];
  /** Events that no fault caused on purpose. */
  readonly surprises: string[] = [];
  /** Straight to the sagas' server, past the proxy. */
  sagas: pg.Pool;
  readonly participants: pg.Pool;
  /** Undefined: workers run the sagas. */
  daemon: RigDaemon | undefined;
  /** The second shard. Undefined: there is one database. */
  readonly lostShard: LostShard | undefined;
  private starter: INestApplicationContext | undefined;
  /** Versions that are deployed. */
  private rolling = [1];
  /** The version that new sagas of the rolling kind start with. */
  version = 1;

  private constructor(
    private readonly servers: ServerPair | EmbeddedServer,
    private readonly participantServer: EmbeddedServer,
    readonly proxy: TcpProxy,
    readonly disk: SmallDisk | undefined,
    readonly chance: Chance,
    lostServer: EmbeddedServer | undefined,
  ) {
    this.sagas = quietPool(this.server.url);
    this.lostShard = lostServer && { server: lostServer, sagas: quietPool(lostServer.url) };
    this.participants = quietPool(participantServer.url);
  }

  /** Undefined: what the fault needs is not permitted here. */
  static async set(fault: Fault, chance: Chance): Promise<DemoEnvironment | undefined> {
    const disk = fault.diskMegabytes ? await SmallDisk.mount(fault.diskMegabytes) : undefined;
    if (fault.diskMegabytes && !disk) return undefined;
    const [server, participants, lostServer] = await Promise.all([
      fault.standby
        ? ServerPair.start(fault.standby, fault.settings)
        : startEmbeddedPostgres({ settings: fault.settings, ...(disk && { parentDir: disk.path }) }),
      // Nothing ever happens to this one, so it need not be durable.
      startEmbeddedPostgres({ settings: { fsync: 'off' } }),
      fault.shards ? startEmbeddedPostgres() : undefined,
    ]);
    const { port } = server instanceof ServerPair ? server.primary : server;
    const proxy = await TcpProxy.before({ host: '127.0.0.1', port });
    const stage = new DemoEnvironment(server, participants, proxy, disk, chance, lostServer);
    try {
      await stage.participants.query(EFFECTS);
      for (const database of stage.databases) await database.query(LEDGER);
      if (fault.daemon) stage.daemon = await RigDaemon.start(stage.url, participants.url, LEASE);
      else await stage.startProcesses();
    } catch (error) {
      await stage.strike();
      throw error;
    }
    return stage;
  }

  /** The sagas' PostgreSQL; of two, the primary. */
  get server(): EmbeddedServer {
    return this.servers instanceof ServerPair ? this.servers.primary : this.servers;
  }

  /** Straight to each database that has sagas. */
  get databases(): readonly pg.Pool[] {
    return [this.sagas, ...(this.lostShard ? [this.lostShard.sagas] : [])];
  }

  /** The sagas' PostgreSQL, of a fault that has a standby. */
  get pair(): ServerPair {
    if (this.servers instanceof ServerPair) return this.servers;
    throw new Error('This fault has no standby');
  }

  /** After a promotion. */
  async followPrimary(): Promise<void> {
    const before = this.sagas;
    this.sagas = quietPool(this.server.url);
    await before.end();
  }

  /** The service of the application that starts the sagas, and runs none. */
  get service(): SagaService {
    return this.starter!.get(SagaService);
  }

  get oneWorker(): WorkerProcess {
    return this.chance.one(this.workers);
  }

  /** Ends a worker; another takes its place. */
  async replace(worker: WorkerProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await worker.end(signal);
    this.workers[this.workers.indexOf(worker)] = await this.startWorker();
  }

  /** What is deployed from now on: the next version, beside the one before. */
  prepareNextVersion(): void {
    this.rolling = [this.version, this.version + 1];
  }

  /** The application that starts sagas is deployed last. */
  async replaceStarter(): Promise<void> {
    const before = this.starter;
    this.starter = await this.startStarter();
    this.version = this.rolling.at(-1)!;
    await before?.close();
  }

  async strike(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.end('SIGKILL')));
    await this.daemon?.close();
    // A pool that is closed waits for the other side of each connection; some have none any more.
    await Promise.all([this.starter?.close(), this.proxy.close()]);
    await Promise.all([...this.databases, this.participants].map((pool) => pool.end()));
    await Promise.all([this.servers.stop(), this.participantServer.stop(), this.lostShard?.server.stop()]);
    await this.disk?.unmount();
  }

  private get url(): string {
    const url = new URL(this.server.url);
    url.port = String(this.proxy.port);
    return url.href;
  }

  private get urls(): readonly string[] {
    return this.lostShard ? [this.url, this.lostShard.server.url] : [this.url];
  }

  private async startProcesses(): Promise<void> {
    this.workers.push(...(await Promise.all(Array.from({ length: WORKERS }, () => this.startWorker()))));
    this.starter = await this.startStarter();
  }

  /** As often as a supervisor would: its first connections may be those that a fault hits. */
  private async startWorker(): Promise<WorkerProcess> {
    for (;;) {
      const worker = await WorkerProcess.start(
        {
          DATABASE_URLS: this.urls.join(' '),
          PARTICIPANT_URL: this.participantServer.url,
          LEASE: String(LEASE),
          ROLLING: this.rolling.join(),
        },
        (how) => this.surprises.push(how),
      );
      if (worker.isRunning) return worker;
      await sleep(500);
    }
  }

  private startStarter(): Promise<INestApplicationContext> {
    process.env.PARTICIPANT_URL = this.participantServer.url;

    @Module({
      // Runs none, but is as impatient as those who do.
      imports: sagaModules(this.urls, { sagas: [], lease: LEASE, pollInterval: 200 }),
      providers: [Participants, ...RIG_SAGAS, ...this.rolling.map(rollingSaga)],
    })
    class StarterModule {}

    return NestFactory.createApplicationContext(StarterModule, { logger: false, abortOnError: false });
  }
}

function quietPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 10 });
  pool.on('error', () => undefined);
  return pool;
}
