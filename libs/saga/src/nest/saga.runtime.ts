import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { SagaObservers } from '../engine/observe/saga-observers.js';
import type { EngineSql } from '../store/postgres/connection/engine-sql.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import { Standby } from '../store/postgres/read/standby.js';
import { inOwnContext } from '../shared/own-context.js';
import { SagaUnavailableError } from '../errors.js';
import { applicationDatabase, shardPlaces, standbyDatabase } from './application-database.js';
import type { ServiceRuntime } from './assemble-engine.js';
import { databaseRuntime, preparedSql } from './database-runtime.js';
import { answerPatience, type ProcessParts } from './engine-runtime.js';
import type { OwnEngine } from './external-engine.js';
import { externalProcess } from './external-process.js';
import { ApplicationLifeCycle, type LifeCyclePart } from './life-cycle/application-life-cycle.js';
import { EarlyWaits } from './calls/early-waits.js';
import { ObserverExplorer } from './discovery/observer.explorer.js';
import { SagaExplorer } from './discovery/saga.explorer.js';
import { MODULE_OPTIONS_TOKEN } from './saga.module-definition.js';
import type { Running } from './running.js';
import { type ResolvedSagaOptions, type SagaModuleOptions, withDefaults } from './saga.options.js';
import { SagaLog } from './saga-log.js';
import { SagaPoller } from './maintenance/saga.poller.js';
import { ratesOn } from './standby-reads.js';
import { ShutdownHint } from './life-cycle/shutdown-hooks-warning.js';
import { shardedProcess } from './shards/sharded-process.js';

/**
 * Wires the engine into the application's life: definitions are checked and tables made when modules are initialised, the
 * worker starts after the application's last bootstrap hook, and drains before its first destroy hook.
 */
@Injectable()
export class SagaRuntime implements OnModuleInit, LifeCyclePart, ServiceRuntime {
  private readonly log = new SagaLog('SagaModule');
  private readonly options: ResolvedSagaOptions;
  private running: Promise<Running> | undefined;
  private readonly hint: ShutdownHint;
  private readonly early: EarlyWaits;

  constructor(
    @Inject(MODULE_OPTIONS_TOKEN) options: SagaModuleOptions,
    private readonly explorer: SagaExplorer,
    private readonly observerExplorer: ObserverExplorer,
    private readonly observers: SagaObservers,
    private readonly poller: SagaPoller,
    private readonly moduleRef: ModuleRef,
    private readonly lifeCycle: ApplicationLifeCycle,
  ) {
    this.options = withDefaults(options);
    this.hint = new ShutdownHint(this.log, this.options.lease);
    this.early = new EarlyWaits(this.log, this.options.worker !== undefined);
    lifeCycle.add(this, 'run', this.options.worker?.shutdownTimeout ?? 0);
  }

  async onModuleInit(): Promise<void> {
    if (!this.lifeCycle.isEnding) await this.ready();
  }

  async begin(): Promise<void> {
    const { process, options } = await this.ready();
    this.early.stop();
    await process.begin();
    this.poller.start(options.pollInterval, () => process.tick());
    if (options.worker) this.hint.start();
  }

  async drain(): Promise<void> {
    this.hint.stop();
    this.poller.stop();
    const running = await this.running?.catch(() => undefined);
    this.early.stop();
    await running?.process.drain();
  }

  /** Hands the sagas that run here over to another process or application. Attempts in progress end in their own time. */
  async retire(): Promise<void> {
    const { process } = await this.ready();
    await process.retire();
  }

  async close(): Promise<void> {
    const running = await this.running?.catch(() => undefined);
    this.running = Promise.reject(
      new SagaUnavailableError('The application and its connections are closed. Use another process.'),
    );
    this.running.catch(() => undefined);
    await running?.process.close();
  }

  /**
   * Sets everything up at the first call. The first hook of any provider may start sagas.
   * @throws SagaUnavailableError after the application was closed
   */
  ready(): Promise<Running> {
    this.running ??= inOwnContext(() => this.setUp());
    return this.running;
  }

  private async setUp(): Promise<Running> {
    const { options, observers } = this;
    const registry = await this.explorer.explore(options);
    for (const observer of this.observerExplorer.explore(registry, this.log, this.lifeCycle.work))
      observers.add((event) => observer.observe(event));
    const only = options.worker?.sagas;
    const runnable = only ? registry.runBy(only) : registry.all;
    const shared = { options, registry, runnable, observers, poller: this.poller, log: this.log };
    const running = await this.over(shared);
    if (!this.lifeCycle.isEnding) this.early.start(running.process);
    return running;
  }

  private over(shared: ProcessParts): Promise<Running> {
    const { engine, shards } = this.options;
    if (engine) return externalProcess(engine as OwnEngine, shared, () => this.database());
    return shards ? this.overShards(shards, shared) : this.overDatabase(shared);
  }

  private database(): SagaDatabase {
    return applicationDatabase(this.moduleRef, this.options, 'SagaModule');
  }

  private async overDatabase(shared: ProcessParts): Promise<Running> {
    const sql = await preparedSql(this.database(), shared);
    const standby = await this.standbyOf(sql);
    const process = await databaseRuntime(sql, shared, {}, standby);
    const rates = ratesOn(process.parts.rates, standby, this.options.schema);
    return { ...process.parts, process, rates };
  }

  private overShards(
    shards: NonNullable<ResolvedSagaOptions['shards']>,
    shared: ProcessParts,
  ): Promise<Running> {
    return shardedProcess(shardPlaces(this.moduleRef, shards, 'SagaModule'), shared);
  }

  /** @throws SagaConfigurationError if it is another server's */
  private async standbyOf(primary: EngineSql): Promise<Standby | undefined> {
    const database = standbyDatabase(this.moduleRef, this.options);
    if (!database) return undefined;
    const standby = new Standby(database, primary, answerPatience(this.options.lease), this.log);
    await standby.check();
    return standby;
  }
}
