import type { SagaGraph } from '../definition/graph/saga-graph.js';
import * as kind from '../definition/options/kinds.js';
import type { StoredMessage } from '../engine/ports/checkpoint.js';
import type { EngineLog } from '../engine/ports/engine-log.js';
import type { SagaBackend } from '../engine/ports/saga-backend.js';
import type { Wakeup } from '../engine/ports/wakeup.js';
import type { Report } from '../shared/diagnostic.js';
import type { EngineSql } from '../store/postgres/connection/engine-sql.js';
import type { Needs } from '../store/postgres/setup/needs.js';

/** A backend that is connected. */
export interface OpenBackend extends SagaBackend {
  /** Repeats work of the start-up as long as it meets an outage, within bounds. */
  starting<T>(work: () => Promise<T>): Promise<T>;
  /** Ends its connections. */
  close(): Promise<void>;
}

/** The process that an engine is for. */
export interface EngineProcess {
  /** The name of the process among those that hold leases. */
  readonly worker: string;
  /** How long (ms) an answer may take. */
  readonly patience: number;
  readonly log: EngineLog;
  /**
   * Returns a message as a transport sends it.
   * @throws SagaCodecError if this process cannot decode it
   */
  readonly relayed: (message: StoredMessage) => StoredMessage;
  /** The application's database, with the tables of the engine in it. Undefined: it has none. */
  readonly own?: OwnTables;
  /** Makes calls, and neither runs sagas nor serves the engine, as a tool does. Default: false. */
  readonly onlyCalls?: boolean;
}

/** The tables that an engine has in the application's database: of what commits together with the application's data. */
export interface OwnTables {
  readonly sql: EngineSql;
  readonly schema: string;
  /** Hints by LISTEN/NOTIFY between the processes that have these tables. */
  readonly wakeup: Wakeup;
}

/** An engine other than PostgreSQL. A package of this library makes it. */
export interface ExternalEngine {
  /** The name of the engine in messages. */
  readonly name: string;
}

/** What such a package makes. */
export interface OwnEngine extends ExternalEngine {
  /** What of a saga it cannot keep, such as `lock`. */
  refuses(graph: SagaGraph): readonly string[];
  /** The tables that it has in the application's database. */
  readonly needs: Needs;
  open(process: EngineProcess): Promise<OpenBackend>;
}

const OF_DATABASES = ['readFrom', 'shards', 'shardOf', 'partitions'] as const;

export const ENGINE_RULE = 'give the engine that a package of this library makes';

export const externalEngine = kind.checked<ExternalEngine>((given) => isOwnEngine(given), ENGINE_RULE);

export function isOwnEngine(given: unknown): given is OwnEngine {
  const { open, refuses } = (given ?? {}) as Partial<OwnEngine>;
  return typeof open === 'function' && typeof refuses === 'function';
}

/** Reports options that are about the databases of sagas: they are in none. */
export function checkExternalEngine(
  options: { readonly engine?: object } & { readonly [Option in (typeof OF_DATABASES)[number]]?: unknown },
  report: Report,
): void {
  if (options.engine === undefined) return;
  for (const option of OF_DATABASES)
    if (options[option] !== undefined) report(`engine and ${option} are both set`, 'set only one of them');
}
