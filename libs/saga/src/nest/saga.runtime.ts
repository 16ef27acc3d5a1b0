import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { v4 as uuid } from 'uuid';
import type { OperatorRules } from '../definition/describe/graph-record.js';
import { agreeOnGraphs } from '../engine/versions/agree-on-graphs.js';
import { SagaObservers } from '../engine/observe/saga-observers.js';
import { SagaUpgrades } from '../engine/versions/saga-upgrades.js';
import { prepareTables } from '../store/postgres/setup/prepare-tables.js';
import { partitionedNeeds, SAGA_NEEDS } from '../store/postgres/setup/needs.js';
import { PostgresPartitions } from '../store/postgres/partitions/postgres-partitions.js';
import { type Dated, Standby } from '../store/postgres/read/standby.js';
import { PostgresRates } from '../store/postgres/read/postgres-rates.js';
import { PostgresGraphStore } from '../store/postgres/postgres-graph-store.js';
import { requireConnections } from '../store/postgres/setup/require-connections.js';
import { EngineSql } from '../store/postgres/connection/engine-sql.js';
import { SagaUnavailableError } from '../errors.js';
import { applicationDatabase, standbyDatabase } from './application-database.js';
import type { ServiceParts, ServiceRuntime } from './assemble-engine.js';
import { ApplicationLifeCycle, type LifeCyclePart } from './life-cycle/application-life-cycle.js';
import { postgresEngine } from './postgres-engine.js';
import { EarlyWaits } from './calls/early-waits.js';
import { ObserverExplorer } from './discovery/observer.explorer.js';
import type { SagaCleanup } from './maintenance/saga.cleanup.js';
import { SagaExplorer } from './discovery/saga.explorer.js';
import { MODULE_OPTIONS_TOKEN } from './saga.module-definition.js';
import { type ResolvedSagaOptions, type SagaModuleOptions, withDefaults } from './saga.options.js';
import { SagaLog } from './saga-log.js';
import { SagaPoller } from './maintenance/saga.poller.js';
import { SagaPartitions } from './maintenance/saga.partitions.js';
import { ShutdownHint } from './life-cycle/shutdown-hooks-warning.js';

/**
 * How long (ms) the engine waits for an answer of PostgreSQL: short enough for a renewal that hangs to be made again
 * within the lease, long enough not to take a busy server for a dead one.
 */
function answerPatience(lease: number): number {
  return Math.max(1_000, lease / 3);
}

/** What those have to know who operate sagas without these options. */
function operatorRules({ approvals, codec }: ResolvedSagaOptions): OperatorRules {
  return { ...(Object.keys(approvals).length > 0 && { approvals }), ...(codec && { coded: true }) };
}

function ratesOn(sql: EngineSql, standby: Standby | undefined, schema: string): Running['rates'] {
  const rates = new PostgresRates(sql, schema);
  if (!standby) return async (ask) => ({ value: await ask(rates) });
  const onStandby = new PostgresRates(standby.sql, schema);
  return (ask) =>
    standby.read(
      () => ask(onStandby),
      () => ask(rates),
    );
}

/** What runs once the application does. */
export interface Running extends ServiceParts {
  readonly upgrades: SagaUpgrades;
  readonly cleanup: SagaCleanup;
  readonly partitions: SagaPartitions;
  /** Asks for the outcome of sagas over time, on the standby if there is one. */
  readonly rates: <T>(ask: (rates: PostgresRates) => Promise<T>) => Promise<Dated<T>>;
}

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
    @Inject(MODULE_OPTIONS_TOKEN) options: SagaModuleOptions | undefined,
    private readonly explorer: SagaExplorer,
    private readonly observerExplorer: ObserverExplorer,
    private readonly observers: SagaObservers,
    private readonly poller: SagaPoller,
    private readonly moduleRef: ModuleRef,
    private readonly lifeCycle: ApplicationLifeCycle,
  ) {
    this.options = withDefaults(options ?? {});
    this.hint = new ShutdownHint(this.log, this.options.lease);
    this.early = new EarlyWaits(this.log, this.options.worker !== undefined);
    lifeCycle.add(this, 'run', this.options.worker?.shutdownTimeout ?? 0);
  }

  async onModuleInit(): Promise<void> {
    if (!this.lifeCycle.isEnding) await this.ready();
  }

  async begin(): Promise<void> {
    const { engine, options, upgrades, cleanup, partitions } = await this.ready();
    this.early.stop();
    await engine.start();
    void upgrades.tick();
    this.poller.start(options.pollInterval, () => {
      engine.tick();
      void upgrades.tick();
    });
    if (!options.worker) return;
    cleanup.start();
    partitions.start();
    this.hint.start();
  }

  async drain(): Promise<void> {
    this.hint.stop();
    this.poller.stop();
    const running = await this.running?.catch(() => undefined);
    this.early.stop();
    if (!running) return;
    const { engine, upgrades, cleanup, partitions } = running;
    await Promise.all([cleanup.stop(), partitions.stop(), upgrades.stop(), engine.drain()]);
  }

  /** Hands the sagas that run here over to another process or application. Attempts in progress end in their own time. */
  async retire(): Promise<void> {
    const { engine } = await this.ready();
    await engine.retire();
  }

  async close(): Promise<void> {
    const running = await this.running?.catch(() => undefined);
    this.running = Promise.reject(
      new SagaUnavailableError('The application and its connections are closed. Use another process.'),
    );
    this.running.catch(() => undefined);
    await running?.engine.close();
  }

  /**
   * Sets everything up at the first call. The first hook of any provider may start sagas.
   * @throws SagaUnavailableError after the application was closed
   */
  ready(): Promise<Running> {
    this.running ??= this.setUp();
    return this.running;
  }

  private async setUp(): Promise<Running> {
    const { options, observers } = this;
    const registry = await this.explorer.explore(options);
    for (const observer of this.observerExplorer.explore(registry, this.log, this.lifeCycle.work))
      observers.add((event) => observer.observe(event));
    const only = options.worker?.sagas;
    const runnable = only ? registry.runBy(only) : registry.all;
    const database = applicationDatabase(this.moduleRef, options, 'SagaModule');
    if (options.worker) requireConnections(database);
    const sql = new EngineSql(database);
    const needs = options.partitions ? partitionedNeeds(options.partitions) : SAGA_NEEDS;
    await prepareTables(sql, options, needs, this.log);
    const partitions = new SagaPartitions(
      new PostgresPartitions(sql, options.schema),
      registry.retentions,
      this.poller,
      this.log,
    );
    await partitions.prepare(options.partitions);
    const standby = await this.standbyOf(sql);
    const graphs = new PostgresGraphStore(sql, options.schema);
    await agreeOnGraphs(registry.all, graphs, options.onDrift, this.log, operatorRules(options));
    // Migrations, and graphs of many instances, may take their time; what comes now may not.
    const parts = postgresEngine({
      ...{ sql, standby, options, registry, runnable, graphs },
      ...{ patience: answerPatience(options.lease), processName: uuid().slice(0, 8), engine: { observers } },
      ...{ poller: this.poller, grace: () => partitions.grace, log: this.log },
    });
    const { engine } = parts;
    if (!this.lifeCycle.isEnding) this.early.start(engine);
    const runs = options.worker ? runnable.map(({ graph }) => graph) : [];
    return {
      ...{ ...parts, partitions },
      upgrades: new SagaUpgrades(runs, graphs, engine, this.log, options.pollInterval),
      rates: ratesOn(sql, standby, options.schema),
    };
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
