import type { Type } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { GraphRecord } from '../definition/describe/graph-record.js';
import type { SagaDescription } from '../definition/describe/saga-description.js';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import type { Running } from '../nest/saga.runtime.js';
import type { SagaService } from '../nest/saga.service.js';
import type { SagaMigrationsOptions } from '../store/postgres/schema/saga-migrations.js';
import { CODEC_OPTION } from './codec-option.js';
import { DATABASE_OPTIONS, type ValuesOf } from './command.js';
import type { Terminal } from './terminal.js';

/** Of every command that looks at sagas, or acts on them. */
export const SAGA_OPTIONS = { ...DATABASE_OPTIONS, ...CODEC_OPTION } as const;

/** As much of a runtime as runs nothing. */
export type OperatorsRunning = Omit<Running, 'partitions'>;

/** Sagas as a command sees them: through the very calls that an application has, on the database alone. */
export interface Operated {
  readonly sagas: SagaService;
  readonly running: OperatorsRunning;
  /** The applications encode what they store. */
  readonly isCoded: boolean;
  /** What was deployed, as it was stored; in the order of the names. */
  readonly deployed: readonly Deployed[];
  /** The class that stands for one of these, as `start()` takes it. */
  typeOf(saga: Deployed): Type;
}

/** The newest graph of a version of a saga. */
export interface Deployed {
  readonly name: string;
  readonly version: number;
  readonly graph: GraphRecord;
  readonly about: SagaDescription;
}

/**
 * Runs `work` on the sagas of a database. The engine is loaded here and not before, because help and `saga init` run
 * where its packages (TypeORM, `@nestjs/common`) are not installed.
 * @param found the sagas of a module file, which have the functions that are not stored
 */
export async function operating<T>(
  where: ValuesOf<typeof SAGA_OPTIONS>,
  terminal: Terminal,
  work: (operated: Operated) => Promise<T>,
  found: readonly RunnableSaga[] = [],
): Promise<T> {
  const engine = await import('./operators-engine.js');
  return engine.operating(where, terminal, work, found);
}

/** @param work receives the DataSource of the saga tables, and the DataSource whose connections that one uses */
export async function onDatabase<T>(
  where: ValuesOf<typeof DATABASE_OPTIONS> & SagaMigrationsOptions,
  terminal: Terminal,
  work: (dataSource: DataSource, schema: string, application: DataSource) => Promise<T>,
): Promise<T> {
  const engine = await import('./operators-engine.js');
  return engine.onDatabase(where, terminal, work);
}
