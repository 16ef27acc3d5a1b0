import type { GraphStore } from '../engine/ports/graph-store.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import type { SagaDefinitions } from '../engine/ports/saga-definitions.js';
import type { SagaStore } from '../engine/ports/saga-store.js';
import type { Wakeup } from '../engine/ports/wakeup.js';
import type { EngineOptions } from '../engine/engine-options.js';
import { SagaEngine } from '../engine/saga-engine.js';
import { SagaBindings } from '../engine/versions/saga-bindings.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';
import type { ListSagas } from './calls/saga-filter.js';
import type { EngineCalls } from '../shards/engine-calls.js';
import type { SagaRegistry } from './discovery/saga.registry.js';
import type { SagaCleanup } from './maintenance/saga.cleanup.js';
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

/** What an engine is made of. */
export interface EngineSetup {
  readonly store: SagaStore;
  readonly wakeup: Wakeup;
  readonly graphs: Pick<GraphStore, 'stored'>;
  /** All sagas of this process, whose instances it may read and edit. */
  readonly sagas: readonly RunnableSaga[];
  /** The sagas that its worker runs. Default: all of them. */
  readonly runnable?: readonly RunnableSaga[];
  readonly definitions: SagaDefinitions;
  readonly options: EngineOptions;
  readonly log: EngineLog;
}

/** Makes an engine. Applications, the command line and SagaTest get theirs here. */
export function assembleEngine(parts: EngineSetup): SagaEngine {
  const { store, wakeup, graphs, sagas, runnable = sagas, definitions, options, log } = parts;
  const bindings = new SagaBindings(sagas, (versions) => graphs.stored(versions));
  return new SagaEngine(store, wakeup, runnable, definitions, options, log, bindings);
}
