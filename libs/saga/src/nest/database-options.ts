import { shown } from '../shared/shown-value.js';
import type { Report } from '../shared/diagnostic.js';
import { nameOfLayer } from '../store/postgres/connection/name-of-layer.js';
import type { SagaDatabase } from '../store/postgres/connection/saga-database.js';

/** The options of a module that choose its database. */
export interface DatabaseOptions {
  readonly database?: SagaDatabase;
  /** The name of a TypeORM DataSource. */
  readonly dataSource?: string;
}

const METHODS = ['session', 'join', 'opener'] as const;

/** Reports what is wrong with them. */
export function readDatabase({ database, dataSource }: DatabaseOptions, report: Report): DatabaseOptions {
  if (dataSource !== undefined && typeof dataSource !== 'string')
    report(`dataSource is ${shown(dataSource)}`, 'give the name of a DataSource');
  if (database !== undefined && dataSource !== undefined)
    report('database and dataSource are both set', 'set only one of them');
  if (database !== undefined) checkDatabase(database, 'database', report);
  return { database, dataSource };
}

/** @param what the option that it is */
export function checkDatabase(database: object | null, what: string, report: Report): void {
  if (isDatabase(database)) return;
  const { what: is, adapter } = nameOfLayer(database);
  const fix =
    adapter?.fix ?? 'Give the database of an entry, such as pgDatabase(pool) of nestjs-durable-saga/pg.';
  report(`${what} is ${is}`, fix);
}

function isDatabase(given: object | null): given is SagaDatabase {
  if (typeof given !== 'object' || given === null || !('pool' in given)) return false;
  return METHODS.every((name) => typeof (given as Partial<SagaDatabase>)[name] === 'function');
}
