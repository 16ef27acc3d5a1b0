import * as kind from '../../definition/options/kinds.js';
import {
  optional,
  OptionReader,
  type OptionTable,
  required,
} from '../../definition/options/option-reader.js';
import { readObject } from '../../shared/read-object.js';
import type { Report } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
import { LONGEST_SCHEMA, schemaName } from '../../store/postgres/connection/schema-name.js';
import { checkDatabase, type DatabaseOptions } from '../database-options.js';

/** A saga that starts, as `shardOf()` of the module's options sees it. */
export interface ShardedStart {
  /** The name of the saga. */
  readonly saga: string;
  /** The input, as `@Saga({ input })` returned it. */
  readonly input: unknown;
  /** The correlation id. Undefined: the start was given none. */
  readonly correlationId?: string;
}

/** The database of a shard, and the schema of its tables. */
export interface ShardDatabase {
  /** The database of a layer, such as `pgDatabase(pool)`, or the name of a TypeORM DataSource. Several shards may have one. */
  readonly database: SagaDatabase | string;
  /** The schema of the shard's tables, which contains nothing else. Default: `schema` of the module. */
  readonly schema?: string;
}

/** Shards by their names: a database, the name of a TypeORM DataSource, or either with a schema. */
export type NamedShards = Record<string, SagaDatabase | string | ShardDatabase>;

/** The options that choose shards. */
export interface ShardOptions extends DatabaseOptions {
  readonly shards?: NamedShards;
  readonly shardOf?: (start: ShardedStart) => string | undefined;
}

/** The options as they are used. */
export interface ShardsRead {
  /** By name, in the order of the options. Undefined: there is one database. */
  readonly shards?: ReadonlyMap<string, Required<ShardDatabase>>;
  readonly shardOf?: ShardOptions['shardOf'];
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const PLACE_OPTIONS = {
  database: required(kind.anything<ShardDatabase['database']>()),
  schema: optional(schemaName),
} satisfies OptionTable<ShardDatabase>;
/** The options that choose shards. `readShards` checks them together. */
export const SHARD_OPTIONS = {
  shards: optional(kind.anything<NamedShards>()),
  shardOf: optional(
    kind.checked<NonNullable<ShardOptions['shardOf']>>(
      (given) => typeof given === 'function',
      'give a function that returns the name of a shard',
    ),
  ),
};
const NAME_RULE = 'name shards by 1 to 63 letters, digits, hyphens and underscores';

/**
 * Reports what is wrong with the shards.
 * @param schema of shards that name none
 */
export function readShardOptions(given: ShardOptions, schema: string, report: Report): ShardsRead {
  const { shards, shardOf, database, dataSource } = given;
  if (shardOf !== undefined && shards === undefined)
    report('shardOf is set without shards', 'set shards, or remove shardOf');
  if (shards === undefined) return {};
  if (database !== undefined || dataSource !== undefined)
    report(
      `shards and ${database === undefined ? 'dataSource' : 'database'} are both set`,
      'set only one of them',
    );
  return { shards: readNamed(shards, schema, report), shardOf };
}

function readNamed(shards: NamedShards, schema: string, report: Report): ShardsRead['shards'] {
  const fix = 'give an object such as { eu: pgDatabase(pool), us: pgDatabase(otherPool) }';
  const names = typeof shards === 'object' && shards !== null ? Object.keys(shards) : [];
  const read = readObject<NamedShards>(shards, names);
  if (!read || names.length === 0) return void report(`shards is ${shown(shards)}`, fix);
  const named = new Map<string, Required<ShardDatabase>>();
  for (const name of names) {
    if (!NAME.test(name)) report(`shards has the name ${shown(name)}`, NAME_RULE);
    const shard = readShard(read.options[name], `shards.${name}`, schema, report);
    if (!shard) continue;
    const [same] = [...named].find(([, other]) => isSame(other, shard)) ?? [];
    if (same !== undefined)
      report(
        `shards.${same} and shards.${name} are the same database and schema ('${shard.schema}')`,
        `give each shard a database or a schema of its own, such as ${name}: { database, schema: '${ownSchema(name)}' }`,
      );
    named.set(name, shard);
  }
  return named;
}

/** @param what the option that it is. @returns undefined: it is none, and that was reported */
function readShard(
  given: NamedShards[string] | undefined,
  what: string,
  schema: string,
  report: Report,
): Required<ShardDatabase> | undefined {
  if (given === undefined) return void report(`${what} is undefined`, 'give the database of the shard');
  const read = isPlace(given)
    ? new OptionReader(report).below(PLACE_OPTIONS, given, what, 'a database')
    : { database: given, schema: undefined };
  if (!read) return undefined;
  const { database } = read;
  const option = isPlace(given) ? `${what}.database` : what;
  if (database === undefined) return void report(`${option} is undefined`, 'give the database of the shard');
  if (typeof database !== 'string') checkDatabase(database, option, report);
  else if (database === '') report(`${option} is ''`, 'give the name of a DataSource');
  return { database, schema: read.schema ?? schema };
}

/** A database of a layer has a pool, and no `database`. */
function isPlace(given: NamedShards[string]): given is ShardDatabase {
  return typeof given === 'object' && given !== null && 'database' in given && !('pool' in given);
}

/** Two databases of a layer over one pool are one. */
function isSame(one: Required<ShardDatabase>, other: Required<ShardDatabase>): boolean {
  const [first, second] = [one, other].map(({ database }) =>
    typeof database === 'string' ? database : ((database as Partial<SagaDatabase> | null)?.pool ?? database),
  );
  return first === second && one.schema === other.schema;
}

/** The name of a schema for a shard. */
export function ownSchema(shard: string): string {
  return `saga_${shard.toLowerCase().replaceAll('-', '_')}`.slice(0, LONGEST_SCHEMA);
}
