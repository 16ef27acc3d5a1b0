import type { StoredShard } from '../../engine/ports/stored-shard.js';
import { SagaConfigurationError } from '../../errors.js';
import { ownSchema } from './shard-options.js';
import { freeNumber } from '../../shards/rendezvous.js';
import { SHARD_NUMBERS } from '../../shards/shard-id.js';
import type { PostgresShardRow } from '../../store/postgres/shards/postgres-shard-row.js';

/** A database that the configuration gives a name, with what it says of itself. */
export interface NamedRow {
  readonly name: string;
  readonly rows: PostgresShardRow;
  readonly row: StoredShard | undefined;
  /** The server, the database and the schema: the same for the same tables, whatever their address. */
  readonly place: string;
}

/**
 * Registers databases that have never been shards, each in its own database. The first ones accept sagas at once. Those
 * that are added later do not until they are opened: processes that do not have them yet would not find sagas there. If
 * some databases have sagas already, only those are the first ones.
 * @param shards all of the configuration
 * @throws SagaConfigurationError if a database is another shard than the configuration says
 */
export async function registerShards(shards: readonly Omit<NamedRow, 'place'>[]): Promise<void> {
  const founders = shards.find(({ row }) => row)?.row?.founders ?? (await foundersOf(shards));
  const taken = new Set(shards.flatMap(({ row }) => row?.number ?? []));
  // In one order, so that processes that start at the same time give the same numbers.
  const byName = [...shards].sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const { name, rows, row } of byName) {
    if (row) continue;
    const number = freeNumber(name, taken, SHARD_NUMBERS);
    taken.add(number);
    await rows.register({ name, number, founders, accepting: founders.includes(name) });
  }
}

async function foundersOf(shards: readonly Omit<NamedRow, 'place'>[]): Promise<string[]> {
  const used: string[] = [];
  for (const { name, rows } of shards) if (await rows.hasSagas()) used.push(name);
  return used.length > 0 ? used : shards.map(({ name }) => name);
}

/** A shard of the configuration. */
export interface ConnectedShard {
  /** Prepares the tables, and reads what the database says of itself. Undefined: it cannot be reached. */
  connect(): Promise<NamedRow | undefined>;
}

/**
 * Connects to the shards, and registers those that are new if all can be reached: which ones are the first, and which
 * numbers are free, all of them say together.
 * @param owner whose configuration it is
 * @throws SagaConfigurationError if a database is another shard than the configuration says
 */
export async function connectShards(
  shards: readonly ConnectedShard[],
  owner?: string,
): Promise<(NamedRow | undefined)[]> {
  const connect = async () => {
    const rows = await Promise.all(shards.map((shard) => shard.connect()));
    const there = rows.flatMap((row) => row ?? []);
    checkShards(there, owner);
    return { rows, there };
  };
  const { rows, there } = await connect();
  if (there.length < shards.length || there.every(({ row }) => row)) return rows;
  await registerShards(there);
  return (await connect()).rows;
}

/**
 * @param owner whose configuration it is
 * @throws SagaConfigurationError if a database is another shard than the configuration says, or two shards have one
 * number or one place
 */
export function checkShards(shards: readonly NamedRow[], owner = 'SagaModule'): void {
  const named = new Map<number, string>();
  const placed = new Map<string, string>();
  for (const { name, row, place } of shards) {
    const same = placed.get(place);
    if (same !== undefined)
      throw new SagaConfigurationError(
        `${owner}: shards.${same} and shards.${name} are the same database and schema. Give each shard a database or a schema ` +
          `of its own, such as ${name}: { database, schema: '${ownSchema(name)}' }.`,
      );
    placed.set(place, name);
    if (!row) continue;
    if (row.name !== name)
      throw new SagaConfigurationError(
        `${owner}: the database of shards.${name} is the shard '${row.name}': its ids and its sagas belong to that name. ` +
          `Give it the name '${row.name}', or give shards.${name} another database.`,
      );
    const other = named.get(row.number);
    if (other !== undefined)
      throw new SagaConfigurationError(
        `${owner}: the shards '${other}' and '${name}' have the same number (${row.number}), so that ids do not tell ` +
          `them apart. They were set up by applications of different configurations. Change the number of the one without ` +
          `sagas in its table shard.`,
      );
    named.set(row.number, name);
  }
}
