import * as kind from '../definition/options/kinds.js';
import { optional, type OptionTable } from '../definition/options/option-reader.js';
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

/** The options of a database. `readDatabase` and `readShards` check them together. */
export const DATABASE_SOURCE_OPTIONS = {
  database: optional(kind.anything<SagaDatabase>()),
  dataSource: optional(
    kind.checked<string>((name) => typeof name === 'string', 'give the name of a DataSource'),
  ),
} satisfies OptionTable<DatabaseOptions>;

/** Reports what is wrong with them. */
export function readDatabase({ database, dataSource }: DatabaseOptions, report: Report): DatabaseOptions {
  if (database !== undefined && dataSource !== undefined)
    report('database and dataSource are both set', 'set only one of them');
  if (database !== undefined) checkDatabase(database, 'database', report);
  return { database, dataSource };
}

/** @param what the option that it is */
export function checkDatabase(database: object | null, what: string, report: Report): void {
  if (isDatabase(database)) return;
  const { what: is, adapter } = nameOfLayer(database);
  report(`${what} is ${is}`, adapter?.fix ?? ENTRY);
}

/** Reports what is wrong with it. */
export function readStandby(
  { readFrom, database, shards }: StandbyOptions & DatabaseOptions & { readonly shards?: object },
  report: Report,
): StandbyOptions {
  if (readFrom === undefined) return {};
  if (shards !== undefined) report('readFrom and shards are both set', 'set only one of them');
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
