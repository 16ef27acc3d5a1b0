import pg from 'pg';
import type { StoredShard } from '../engine/ports/stored-shard.js';
import { serializeError } from '../engine/payload/serialize-error.js';
import { countsOf, type ShardStatus } from '../nest/views/shard-status.js';
import { severalHosts } from '../store/postgres/connection/several-hosts.js';
import { isTransientError } from '../store/postgres/connection/transient-errors.js';
import { PostgresSagaStore } from '../store/postgres/postgres-saga-store.js';
import { PostgresShardRow } from '../store/postgres/shards/postgres-shard-row.js';
import { databaseUrl } from './database-url.js';
import { onMigratedDatabase, PATIENCE } from './operators-engine.js';
import type { Terminal } from './terminal.js';
import { CannotTell } from './usage-error.js';

/** The databases of a command on shards: a URL for each. */
export interface ShardUrls {
  readonly url?: readonly string[];
  readonly schema?: string;
}

/** A shard as its own database describes it. */
export interface ShardAt extends Omit<ShardStatus, 'name'> {
  /** Its server and database, without user and password: `db-eu:5432/shop`. */
  readonly database: string;
  /** Undefined: the database cannot be reached, and only it knows the name. */
  readonly name?: string;
  /** Why it cannot be reached. */
  readonly cause?: string;
}

/** What is done with the row of a shard. */
type RowWork<T> = (rows: PostgresShardRow, row: StoredShard, store: PostgresSagaStore) => Promise<T>;

/**
 * Reads all shards, in the order of their URLs.
 * @throws CannotTell if a database is no shard
 */
export function readShards(where: ShardUrls, terminal: Terminal): Promise<ShardAt[]> {
  const counted: RowWork<Omit<ShardAt, 'database'>> = async (_, { name, accepting }, store) => ({
    ...{ name, reachable: true, accepting },
    counts: countsOf(await store.stats()),
  });
  return Promise.all(
    urlsOf(where, terminal).map(async (url) => ({
      database: placeOf(url),
      ...(await onShard(url, where, terminal, counted).catch(unreachable)),
    })),
  );
}

/**
 * Lets new sagas start on the shard of a name, or lets none start there.
 * @returns false: it was so already
 * @throws CannotTell if none of the databases is this shard, or two are
 */
export async function setAccepting(
  name: string,
  accepting: boolean,
  change: { readonly by?: string; readonly reason?: string },
  where: ShardUrls,
  terminal: Terminal,
): Promise<boolean> {
  const urls = urlsOf(where, terminal);
  const named: RowWork<{ name: string }> = async (_, row) => ({ name: row.name });
  const found = await Promise.all(
    urls.map(async (url) => ({
      url,
      ...(await onShard(url, where, terminal, named).catch(unreachable)),
    })),
  );
  const [shard, ...more] = found.filter((one) => one.name === name);
  if (!shard) throw noShard(name, found);
  if (more.length > 0)
    throw new CannotTell(
      `${[shard, ...more].map(({ url }) => placeOf(url)).join(' and ')} both have the name '${name}'. Give the URL of only one`,
      'SAGA_CONFIGURATION',
    );
  return onShard(shard.url, where, terminal, async (rows, row) => {
    await rows.setAccepting(accepting, change);
    return row.accepting !== accepting;
  });
}

/** Default: the variable DATABASE_URL. */
function urlsOf({ url: urls = [] }: ShardUrls, terminal: Terminal): string[] {
  return urls.length > 0 ? [...urls] : [databaseUrl(undefined, terminal)];
}

/** @throws CannotTell if the database is no shard */
function onShard<T>(url: string, { schema }: ShardUrls, terminal: Terminal, work: RowWork<T>): Promise<T> {
  return onMigratedDatabase({ url, ...(schema !== undefined && { schema }) }, terminal, async (sql, name) => {
    sql.watchdog.setStatementTimeout(PATIENCE);
    const rows = new PostgresShardRow(sql, name);
    const row = await rows.read();
    if (row) return work(rows, row, new PostgresSagaStore(sql, name));
    throw new CannotTell(
      `The database ${placeOf(url)} is not a shard. Start an application that has it in forRoot({ shards }) once`,
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
  found: readonly { readonly url: string; readonly name?: string; readonly cause?: string }[],
): CannotTell {
  const lost = found.filter((one) => one.name === undefined);
  if (lost.length > 0)
    return new CannotTell(
      `Shard '${name}' was not found. Not reached: ${lost.map(({ url, cause }) => `${placeOf(url)} (${cause})`).join(', ')}`,
      'SAGA_SHARD_UNAVAILABLE',
    );
  const known = found.map((one) => `${one.name} (${placeOf(one.url)})`).join(', ');
  return new CannotTell(
    `None of the databases is the shard '${name}': ${known}. Give its URL as --url`,
    'SAGA_VALIDATION',
  );
}

/** As the driver reads a URL: all of its hosts, and the database. */
function placeOf(url: string): string {
  const clients = (severalHosts(url)?.urls ?? [url]).map(
    (connectionString) => new pg.Client({ connectionString }),
  );
  const hosts = clients.map(({ host, port }) => `${host}:${port}`).join(',');
  return `${hosts}/${clients[0]!.database ?? ''}`;
}
