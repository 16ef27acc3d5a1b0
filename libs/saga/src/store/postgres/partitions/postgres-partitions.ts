import { DELETION_KNOWN_FOR } from '../../../engine/ports/put-back.js';
import type { Sql } from '../connection/sql.js';
import { PERIODS, type Partitions } from '../schema/partition-saga-tables.js';

/** A partition of the sagas' tables: what was started from one time on, until another (ms). */
export interface Partition {
  /** The partition's first day, '20261122', or 'before': what was there before there were partitions. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** How sagas' tables are partitioned. */
export interface Partitioning {
  readonly partitions: Partitions;
  /** The period of a partition, in ms. */
  readonly period: number;
  readonly since: number;
}

/** Sagas that keep their partition from being dropped are moved elsewhere, if they are no more than this. */
export const MOST_MOVED = 10_000;
/** Correlation ids that are deleted in a transaction. */
const FORGOTTEN_AT_ONCE = 2_000;
/** A partition of `instance`, in a regular expression that gives its own name. */
const PART = '^instance_([0-9]{8}|before)$';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** The partitions of sagas, where there are any: see partitions/partition.sql. */
export class PostgresPartitions {
  constructor(
    private readonly sql: Sql,
    private readonly schema: string,
  ) {}

  /** Undefined: the tables are not partitioned. */
  async read(): Promise<Partitioning | undefined> {
    const [{ there }] = await this.sql.query<[{ there: boolean }]>(
      'SELECT to_regclass($1) IS NOT NULL AS there',
      [`"${this.schema}".partitioning`],
    );
    if (!there) return undefined;
    const [row] = await this.sql.query<{ period: string; since: string }[]>(
      `SELECT period, since FROM "${this.schema}".partitioning`,
    );
    const period = Number(row!.period);
    const partitions = period === PERIODS.daily ? 'daily' : 'weekly';
    return { partitions, period, since: Number(row!.since) };
  }

  /** Makes the next partition that is missing of so many periods to come. False: there is none. */
  async makeAhead(periods: number): Promise<boolean> {
    const [row] = await this.sql.query<[{ made: boolean }]>(
      `SELECT "${this.schema}".partition_ahead($1) AS made`,
      [periods],
    );
    return row.made;
  }

  /** Oldest first; the rest, which has no time, is none of them. */
  async list({ period, since }: Partitioning): Promise<Partition[]> {
    const rows = await this.sql.query<{ name: string }[]>(
      `SELECT substring(c.relname FROM '${PART}') AS name FROM pg_inherits i
       JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1)`,
      [`"${this.schema}".instance`],
    );
    return rows
      .filter(({ name }) => name !== null)
      .map(({ name }) => {
        if (name === 'before') return { name, from: 0, to: since };
        const from = Date.UTC(+name.slice(0, 4), +name.slice(4, 6) - 1, +name.slice(6));
        return { name, from, to: from + period };
      })
      .sort((a, b) => a.from - b.from);
  }

  /**
   * Drops a partition in which every saga ended longer ago than its name's age (ms) says; others are kept for ever.
   * @returns how many were moved out of it; 'kept': too many have to stay; undefined: another process runs it
   */
  async drop(
    { name, from, to }: Partition,
    ages: ReadonlyMap<string, number>,
  ): Promise<number | 'kept' | undefined> {
    const bound = (n: number) => `"${this.schema}".partition_bound($${n}::bigint)`;
    const [row] = await this.sql.query<[{ moved: number | null }]>(
      `SELECT "${this.schema}".partition_drop($1, ${bound(2)}, ${bound(3)}, $4, $5, $6) AS moved`,
      [name, from, to, [...ages.keys()], [...ages.values()].map(droppableAfter), MOST_MOVED],
    );
    if (row.moved === null) return undefined;
    return row.moved < 0 ? 'kept' : row.moved;
  }

  /** Returns the partitions that were dropped, and whose correlation ids are still stored. */
  async leaving(): Promise<string[]> {
    const rows = await this.sql.query<{ name: string }[]>(
      `SELECT substring(c.relname FROM '${PART}') AS name FROM pg_class c
       WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r' AND c.relname ~ '${PART}'
         AND NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid)`,
      [`"${this.schema}"`],
    );
    return rows.map(({ name }) => name);
  }

  /** Deletes some correlation ids of one that was dropped. Gives where to go on; undefined: nothing is left of it. */
  async forget(name: string, after = FIRST_ID): Promise<string | undefined> {
    const [row] = await this.sql.query<[{ last: string | null }]>(
      `SELECT "${this.schema}".partition_forget($1, $2, $3) AS last`,
      [name, after, FORGOTTEN_AT_ONCE],
    );
    return row.last ?? undefined;
  }
}

/** A partition is dropped without a record of its sagas, so those that ended lately stay: cleanup records what it deletes. */
function droppableAfter(age: number): number {
  return Math.max(age, DELETION_KNOWN_FOR);
}
