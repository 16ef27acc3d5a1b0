import pg from 'pg';
import type { ShardStatus } from 'nestjs-durable-saga/operators';
import {
  DEFAULT_SCHEMA,
  type StoredShard,
  serializeError,
  severalHosts,
  shardCountsOf,
} from 'nestjs-durable-saga/internal';
import {
  Coder,
  PostgresGraphStore,
  PostgresSagaStore,
  PostgresShardRow,
  type ShardCall,
  type ShardChange,
  convertWhoAndWhy,
  isTransientError,
} from 'nestjs-durable-saga/internal/runtime';
import { type ValuesOf, CannotTell, UsageError } from './command.js';
import { databaseUrl, schemaOf } from './database-options.js';
import { checkEncoded, type CODEC_OPTION } from './operator-session.js';
import { onMigratedDatabase, PATIENCE, readCodec, rulesOf } from './operators-engine.js';
import type { Terminal } from './terminal.js';

/** The shards of a command: URLs and schemas, in pairs, or one URL with several schemas, or several URLs with one schema. */
export interface ShardUrls {
  readonly url?: readonly string[];
  readonly schema?: readonly string[];
}

/** Where a shard is. */
interface ShardAddress {
  readonly url: string;
  readonly schema: string;
}

/** A shard as its own database describes it. */
export interface ShardAt extends Omit<ShardStatus, 'name'> {
  /** The shard's server and database, without user and password: `db-eu:5432/shop`. The schema if it is not `saga`. */
  readonly database: string;
  /** Undefined: the database cannot be reached, and only it knows the name. */
  readonly name?: string;
  /** Why it cannot be reached. */
  readonly cause?: string;
}

/** What is done with the row of a shard. */
type RowWork<T> = (
  rows: PostgresShardRow,
  row: StoredShard,
  stores: { readonly store: PostgresSagaStore; readonly graphs: PostgresGraphStore },
) => Promise<T>;

/**
 * Reads all shards, in the order of their addresses.
 * @throws CannotTell if a database is no shard
 */
export function readShards(where: ShardUrls, terminal: Terminal): Promise<ShardAt[]> {
  const counted: RowWork<Omit<ShardAt, 'database'>> = async (_, { name, accepting, closed }, { store }) => ({
    ...{ name, reachable: true, accepting, closed },
    counts: shardCountsOf(await store.stats()),
  });
  return Promise.all(
    addressesOf(where, terminal).map(async (address) => ({
      database: placeOf(address),
      ...(await onShard(address, terminal, counted).catch(unreachable)),
    })),
  );
}

/**
 * Makes a call on the shard of a name.
 * @returns false: it was so already
 * @throws CannotTell if none of the databases is this shard, or two are
 */
export async function changeShardAt(
  name: string,
  call: ShardCall,
  change: ShardChange,
  where: ShardUrls & ValuesOf<typeof CODEC_OPTION>,
  terminal: Terminal,
): Promise<boolean> {
  const codec = await readCodec(where);
  const named: RowWork<{ name: string }> = async (_, row) => ({ name: row.name });
  const found = await Promise.all(
    addressesOf(where, terminal).map(async (address) => ({
      address,
      ...(await onShard(address, terminal, named).catch(unreachable)),
    })),
  );
  const [shard, ...more] = found.filter((one) => one.name === name);
  if (!shard) throw noShard(name, found);
  if (more.length > 0)
    throw new CannotTell(
      `${[shard, ...more].map(({ address }) => placeOf(address)).join(' and ')} both have the name '${name}'. Give the address of only one`,
      'SAGA_CONFIGURATION',
    );
  return onShard(shard.address, terminal, async (rows, row, { graphs }) => {
    const { coded: isCoded } = rulesOf(await graphs.newest());
    checkEncoded({ isCoded, codec }, change.reason && '--reason');
    await rows[call](convertWhoAndWhy(change, new Coder(codec).encoding));
    const after = await rows.read();
    return after?.accepting !== row.accepting || after.closed !== row.closed;
  });
}

/**
 * Default: the variable DATABASE_URL, and the schema `saga`.
 * @throws UsageError if it is not certain which schema belongs to which URL
 */
function addressesOf({ url = [], schema = [] }: ShardUrls, terminal: Terminal): ShardAddress[] {
  const urls = url.length > 0 ? url : [databaseUrl(undefined, terminal)];
  const schemas = schema.length > 0 ? schema.map((one) => schemaOf({ schema: one })) : [DEFAULT_SCHEMA];
  if (urls.length > 1 && schemas.length > 1 && urls.length !== schemas.length)
    throw new UsageError(
      `--url is given ${urls.length} times, and --schema ${schemas.length} times. Give a --schema for each --url, in the same ` +
        `order, or only one of the two several times`,
    );
  return Array.from({ length: Math.max(urls.length, schemas.length) }, (_, n) => ({
    url: urls[n] ?? urls[0]!,
    schema: schemas[n] ?? schemas[0]!,
  }));
}

/** @throws CannotTell if the database is no shard */
function onShard<T>(address: ShardAddress, terminal: Terminal, work: RowWork<T>): Promise<T> {
  return onMigratedDatabase(address, terminal, async (sql, schema) => {
    sql.watchdog.setStatementTimeout(PATIENCE);
    const rows = new PostgresShardRow(sql, schema);
    const row = await rows.read();
    if (row)
      return work(rows, row, {
        store: new PostgresSagaStore(sql, schema),
        graphs: new PostgresGraphStore(sql, schema),
      });
    throw new CannotTell(
      `The database ${placeOf(address)} is not a shard. Start an application that has it in forRoot({ shards }) once`,
      'SAGA_CONFIGURATION',
    );
  });
}

/** @throws the error, if it does not say that a database cannot be reached */
function unreachable(error: unknown): { readonly name?: string; reachable: boolean; cause: string } {
  if (!isTransientError(error)) throw error;
  return { reachable: false, cause: serializeError(error).message };
}

function noShard(
  name: string,
  found: readonly { readonly address: ShardAddress; readonly name?: string; readonly cause?: string }[],
): CannotTell {
  const lost = found.filter((one) => one.name === undefined);
  if (lost.length > 0)
    return new CannotTell(
      `Shard '${name}' was not found. Not reached: ${lost.map(({ address, cause }) => `${placeOf(address)} (${cause})`).join(', ')}`,
      'SAGA_SHARD_UNAVAILABLE',
    );
  const known = found.map((one) => `${one.name} (${placeOf(one.address)})`).join(', ');
  return new CannotTell(
    `None of the databases is the shard '${name}': ${known}. Give its address as --url and --schema`,
    'SAGA_VALIDATION',
  );
}

/** As the driver reads a URL: all of its hosts, and the database. */
function placeOf({ url, schema }: ShardAddress): string {
  const clients = (severalHosts(url)?.urls ?? [url]).map(
    (connectionString) => new pg.Client({ connectionString }),
  );
  const hosts = clients.map(({ host, port }) => `${host}:${port}`).join(',');
  return `${hosts}/${clients[0]!.database ?? ''}${schema === DEFAULT_SCHEMA ? '' : ` schema ${schema}`}`;
}
