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

/** Where lists are read. */
export interface StandbyOptions {
  readonly readFrom?: SagaDatabase | string;
}

const ENTRY = 'Give the database of an entry, such as pgDatabase(pool) of nestjs-durable-saga/pg.';
const METHODS = ['session', 'join', 'opener'] as const;

/** Reports what is wrong with them. */
export function readDatabase({ database, dataSource }: DatabaseOptions, report: Report): DatabaseOptions {
  if (dataSource !== undefined && typeof dataSource !== 'string')
    report(`dataSource is ${shown(dataSource)}`, 'give the name of a DataSource');
  if (database !== undefined && dataSource !== undefined)
    report('database and dataSource are both set', 'set only one of them');
  if (database !== undefined && !isDatabase(database)) {
    const { what, adapter } = nameOfLayer(database);
    report(`database is ${what}`, adapter?.fix ?? ENTRY);
  }
  return { database, dataSource };
}

/** Reports what is wrong with it. */
export function readStandby(
  { readFrom, database }: StandbyOptions & DatabaseOptions,
  report: Report,
): StandbyOptions {
  if (readFrom === undefined) return {};
  if (typeof readFrom === 'string') {
    // Without TypeORM, there is no DataSource of this name.
    if (database !== undefined) report(`readFrom is ${shown(readFrom)}, but database is set`, ENTRY);
  } else if (!isDatabase(readFrom)) {
    const { what } = nameOfLayer(readFrom);
    report(`readFrom is ${what}`, `${ENTRY} With TypeORM, give the name of a DataSource.`);
  }
  return { readFrom };
}

function isDatabase(given: object | null): given is SagaDatabase {
  if (typeof given !== 'object' || given === null || !('pool' in given)) return false;
  return METHODS.every((name) => typeof (given as Partial<SagaDatabase>)[name] === 'function');
}
