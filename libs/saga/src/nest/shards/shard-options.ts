import { readObject } from '../../shared/read-object.js';
import type { Report } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';
import type { SagaDatabase } from '../../store/postgres/connection/saga-database.js';
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

/** The options that choose shards. */
export interface ShardOptions extends DatabaseOptions {
  readonly shards?: Record<string, SagaDatabase | string>;
  readonly shardOf?: (start: ShardedStart) => string | undefined;
}

/** The options as they are used. */
export interface ShardsRead {
  /** By name, in the order of the options. Undefined: there is one database. */
  readonly shards?: ReadonlyMap<string, SagaDatabase | string>;
  readonly shardOf?: ShardOptions['shardOf'];
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const NAME_RULE = 'name shards by 1 to 63 letters, digits, hyphens and underscores';

/** Reports what is wrong with the shards. */
export function readShards(given: ShardOptions, report: Report): ShardsRead {
  const { shards, shardOf, database, dataSource } = given;
  if (shardOf !== undefined && typeof shardOf !== 'function')
    report(`shardOf is ${shown(shardOf)}`, 'give a function that returns the name of a shard');
  if (shardOf !== undefined && shards === undefined)
    report('shardOf is set without shards', 'set shards, or remove shardOf');
  if (shards === undefined) return {};
  if (database !== undefined || dataSource !== undefined)
    report(
      `shards and ${database === undefined ? 'dataSource' : 'database'} are both set`,
      'set only one of them',
    );
  return { shards: readNamed(shards, report), shardOf };
}

function readNamed(
  shards: NonNullable<ShardOptions['shards']>,
  report: Report,
): ReadonlyMap<string, SagaDatabase | string> | undefined {
  const fix = 'give an object such as { eu: pgDatabase(pool), us: pgDatabase(otherPool) }';
  const names = typeof shards === 'object' && shards !== null ? Object.keys(shards) : [];
  const read = readObject<Record<string, SagaDatabase | string>>(shards, names);
  if (!read || names.length === 0) return void report(`shards is ${shown(shards)}`, fix);
  const named = new Map<string, SagaDatabase | string>();
  for (const name of names) {
    const database = read.options[name];
    if (database === undefined) {
      report(`shards.${name} is undefined`, 'give the database of the shard');
      continue;
    }
    if (!NAME.test(name)) report(`shards has the name ${shown(name)}`, NAME_RULE);
    if (typeof database !== 'string') checkDatabase(database, `shards.${name}`, report);
    else if (database === '') report(`shards.${name} is ''`, 'give the name of a DataSource');
    const [same] = [...named].find(([, other]) => other === database) ?? [];
    if (same !== undefined)
      report(`shards.${same} and shards.${name} are the same database`, 'give each shard its own');
    named.set(name, database);
  }
  return named;
}

/** SagaModule's option `shards`, or null: for SagaMessagingModule. */
export const SAGA_SHARDS = Symbol('SAGA_SHARDS');
