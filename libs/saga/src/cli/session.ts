import type { DataSource } from 'typeorm';
import type { RunnableSaga } from '../engine/ports/invoker.js';
import type { SagaMigrationsOptions } from '../store/postgres/schema/saga-migrations.js';
import type { DATABASE_OPTIONS, ValuesOf } from './command.js';
import type { OperatorSession, SAGA_OPTIONS } from './operator-session.js';
import type { Terminal } from './terminal.js';

/**
 * Runs `work` on the sagas of a database. The engine is loaded here and not before, because help and `saga init` run
 * where its packages (TypeORM, `@nestjs/common`) are not installed.
 * @param found the sagas of a module file, which have the functions that are not stored
 */
export async function operating<T>(
  where: ValuesOf<typeof SAGA_OPTIONS>,
  terminal: Terminal,
  work: (operated: OperatorSession) => Promise<T>,
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
