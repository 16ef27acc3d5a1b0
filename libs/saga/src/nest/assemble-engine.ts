import type { GraphStore } from '../engine/ports/graph-store.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import type { SagaBackend } from '../engine/ports/saga-backend.js';
import type { SagaDefinitions } from '../engine/ports/saga-definitions.js';
import type { EngineOptions } from '../engine/engine-options.js';
import { SagaEngine } from '../engine/saga-engine.js';
import { SagaBindings } from '../engine/versions/saga-bindings.js';
import { codedSagaStore } from '../store/coded/coded-saga-store.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import type { ListSagas } from './calls/saga-filter.js';
import type { EngineCalls } from '../shards/engine-calls.js';
import type { SagaRegistry } from './discovery/saga.registry.js';
import { SagaCleanup } from './maintenance/saga.cleanup.js';
import type { SagaPoller } from './maintenance/saga.poller.js';
import type { ShardCalls } from './shards/shard-calls.js';
import type { ResolvedSagaOptions } from './saga.options.js';

/** The parts of a process that the services use. */
export interface ServiceParts {
  readonly engine: EngineCalls;
  readonly registry: SagaRegistry;
  readonly options: ResolvedSagaOptions;
  /** Graphs of sagas that other applications have, too. */
  readonly graphs: Pick<GraphStore, 'stored'>;
  readonly cleanup: Pick<SagaCleanup, 'cleanup'>;
  /** Undefined: the sagas are in no database. */
  readonly database?: Pick<SagaDatabase, 'join'>;
  /** Lists sagas from a standby. Undefined: the engine does, from the primary. */
  readonly list?: ListSagas;
  /** Undefined: the sagas are in one database. */
  readonly shards?: ShardCalls;
}

/** What the services ask for these parts: they are ready once the tables and the graphs are. */
export interface ServiceRuntime {
  ready(): Promise<ServiceParts>;
}

/** What an engine is made of, beside its backend. */
export interface EngineSetup {
  readonly registry: SagaRegistry;
  readonly options: ResolvedSagaOptions;
  /** What the engine has beside the options of the module, or instead of them. */
  readonly engine: Pick<EngineOptions, 'workerId'> & Partial<EngineOptions>;
  /** All sagas of this process, whose instances it may read and edit. Default: those of the registry. */
  readonly sagas?: readonly RunnableSaga[];
  /** The sagas that its worker runs. Default: all of them. */
  readonly runnable?: readonly RunnableSaga[];
  /** Default: the registry. */
  readonly definitions?: SagaDefinitions;
  /** Default: nothing is done by the clock. */
  readonly poller?: Pick<SagaPoller, 'start' | 'stop'>;
  /** See SagaCleanup. Default: 0. */
  readonly grace?: () => number;
  readonly log: EngineLog;
}

const NO_POLLER = { start: () => undefined, stop: () => undefined };

/**
 * Makes an engine, with what the services use of it. Applications, shards, the command line and SagaTest get theirs here: what
 * options ask for is kept on every backend.
 */
export function engineServices(
  backend: SagaBackend,
  setup: EngineSetup,
): ServiceParts & { readonly engine: SagaEngine; readonly cleanup: SagaCleanup } {
  const { registry, options, sagas = registry.all, runnable = sagas, definitions = registry, log } = setup;
  const { wakeup } = backend;
  const store = codedSagaStore(backend.store, options.codec);
  const bindings = new SagaBindings(sagas, (versions) => backend.graphs.stored(versions));
  const resolved = { ...options, ...setup.engine };
  const engine = new SagaEngine(store, wakeup, runnable, definitions, resolved, log, bindings);
  const retrying: SagaEngine['retrying'] = (call) => engine.retrying(call);
  const { poller = NO_POLLER, grace } = setup;
  return {
    ...{ engine, registry, options },
    graphs: { stored: (versions) => retrying(() => backend.graphs.stored(versions)) },
    cleanup: new SagaCleanup(backend.cleanup, registry, poller, log, grace, retrying),
  };
}
