import { hostname } from 'node:os';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { v4 as uuid } from 'uuid';
import type { OperatorRules } from '../definition/describe/graph-record.js';
import { agreeOnGraphs } from '../engine/versions/agree-on-graphs.js';
import type { GraphStore } from '../engine/ports/graph-store.js';
import { SagaBindings } from '../engine/versions/saga-bindings.js';
import { SagaEngine } from '../engine/saga-engine.js';
import { SagaObservers } from '../engine/observe/saga-observers.js';
import { SagaUpgrades } from '../engine/versions/saga-upgrades.js';
import { CodedSagaStore } from '../store/coded/coded-saga-store.js';
import { watchdogOf } from '../store/postgres/connection/statement-watchdog.js';
import { ListenWakeup } from '../store/postgres/connection/listen-wakeup.js';
import { FinishedIndex } from '../store/postgres/setup/finished-index.js';
import { checkMigrated, migrate } from '../store/postgres/setup/migrate.js';
import { partitionedNeeds, SAGA_NEEDS } from '../store/postgres/setup/needs.js';
import { PostgresCleanup } from '../store/postgres/cleanup/postgres-cleanup.js';
import { PostgresPartitions } from '../store/postgres/partitions/postgres-partitions.js';
import { PostgresRates } from '../store/postgres/read/postgres-rates.js';
import { PostgresGraphStore } from '../store/postgres/postgres-graph-store.js';
import { PostgresSagaStore } from '../store/postgres/postgres-saga-store.js';
import { requireConnections } from '../store/postgres/setup/require-connections.js';
import { createSagaDataSource, poolOf, sagaParts } from '../store/postgres/connection/saga-data-source.js';
import { wakeupChannel } from '../store/postgres/connection/wakeup-channel.js';
import { SagaUnavailableError } from '../errors.js';
import { applicationDataSource } from './application-data-source.js';
import { ApplicationLifeCycle, type LifeCyclePart } from './life-cycle/application-life-cycle.js';
import { EarlyWaits } from './calls/early-waits.js';
import { ObserverExplorer } from './discovery/observer.explorer.js';
import { SagaCleanup } from './maintenance/saga.cleanup.js';
import { SagaExplorer } from './discovery/saga.explorer.js';
import { MODULE_OPTIONS_TOKEN } from './saga.module-definition.js';
import { type ResolvedSagaOptions, type SagaModuleOptions, withDefaults } from './saga.options.js';
import { SagaLog } from './saga-log.js';
import { SagaPoller } from './maintenance/saga.poller.js';
import { SagaPartitions } from './maintenance/saga.partitions.js';
import { ShutdownHint } from './life-cycle/shutdown-hooks-warning.js';
import type { SagaRegistry } from './discovery/saga.registry.js';

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

/** What runs once the application does. */
export interface Running {
  readonly engine: SagaEngine;
  readonly registry: SagaRegistry;
  readonly options: ResolvedSagaOptions;
  /** Those of sagas that other applications have, too. */
  readonly graphs: Pick<GraphStore, 'stored'>;
  readonly upgrades: SagaUpgrades;
  readonly cleanup: SagaCleanup;
  readonly partitions: SagaPartitions;
  /** The outcome of sagas, over time. */
  readonly rates: PostgresRates;
}

/**
 * Wires the engine into the application's life: definitions are checked and tables made when modules are initialised, the
 * worker starts after the application's last bootstrap hook, and drains before its first destroy hook.
 */
@Injectable()
export class SagaRuntime implements OnModuleInit, LifeCyclePart {
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
    const application = applicationDataSource(this.moduleRef, options.dataSource, 'SagaModule');
    if (options.worker) requireConnections(application);
    const dataSource = await createSagaDataSource(application, options.schema, sagaParts(options));
    const needs = options.partitions ? partitionedNeeds(options.partitions) : SAGA_NEEDS;
    await (options.migrate ? migrate : checkMigrated)(dataSource, options.schema, needs);
    const partitions = new SagaPartitions(
      new PostgresPartitions(dataSource, options.schema),
      registry.retentions,
      this.poller,
      this.log,
    );
    await partitions.prepare(options.partitions);
    const graphs = new PostgresGraphStore(dataSource, options.schema);
    await agreeOnGraphs(registry.all, graphs, options.onDrift, this.log, operatorRules(options));
    // Migrations, and graphs of many instances, may take their time; what comes now may not.
    const patience = answerPatience(options.lease);
    watchdogOf(poolOf(application)).setStatementTimeout(patience);
    const notify = (channel: string, payload: string) =>
      dataSource.query('SELECT pg_notify($1, $2)', [channel, payload]);
    const channel = wakeupChannel(options.schema);
    const wakeup = new ListenWakeup(poolOf(application), channel, notify, this.log, patience);
    const engine = new SagaEngine(
      new CodedSagaStore(new PostgresSagaStore(dataSource, options.schema, application), options.codec),
      wakeup,
      runnable,
      registry,
      { ...options, observers, workerId: `${hostname()}:${process.pid}:${uuid().slice(0, 8)}` },
      this.log,
      new SagaBindings(registry.all, (sagas) => graphs.stored(sagas)),
    );
    if (!this.lifeCycle.isEnding) this.early.start(engine);
    const runs = options.worker ? runnable.map(({ graph }) => graph) : [];
    return {
      ...{ engine, registry, options, graphs, partitions },
      upgrades: new SagaUpgrades(runs, graphs, engine, this.log, options.pollInterval),
      rates: new PostgresRates(dataSource, options.schema),
      cleanup: new SagaCleanup(
        new PostgresCleanup(dataSource, options.schema),
        new FinishedIndex(dataSource, options.schema),
        registry,
        this.poller,
        this.log,
        () => partitions.grace,
      ),
    };
  }
}
