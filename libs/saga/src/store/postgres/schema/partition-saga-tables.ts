import * as kind from '../../../definition/options/kinds.js';
import type { QueryRunner } from 'typeorm';
import { FIRST_MONDAY } from '../sql-values.js';
import { partitionParts, unpartitionStatements } from './partition-tables.sql.js';
import { PARTITIONED, PARTITIONING_TABLES } from './tables/table-facts.js';

/** How long a partition is, in ms. */
export const PERIODS = { daily: 86_400_000, weekly: 7 * 86_400_000 } as const;
/** By the day, or by the week (from Monday), UTC. */
export type Partitions = keyof typeof PERIODS;

export const partitionPeriod = kind.oneOf(...(Object.keys(PERIODS) as Partitions[]));

/** Unique over all sagas, which PostgreSQL can promise within a partition only. Something else keeps them: see functions/. */
const UNIQUE_OVER_ALL = ['instance_correlation', 'instance_lock_held'];

interface Index {
  readonly name: string;
  readonly definition: string;
  readonly key: string | null;
}

/**
 * Turns the tables of sagas into partitioned ones, by the time in the sagas' ids. The existing rows become their first
 * partition, unchanged. Ids with a later time, or none, go to the rest. Other transactions on the tables wait
 * meanwhile.
 */
export async function partitionSagaTables(
  sql: QueryRunner,
  schema: string,
  partitions: Partitions,
): Promise<void> {
  const tables = new SagaTables(sql, schema);
  const parts = partitionParts(schema);
  await run(sql, parts.tables);
  for (const table of PARTITIONING_TABLES) await tables.grantAs('instance', table);
  await run(sql, parts.functions);
  const isEmpty = await tables.isEmpty('instance');
  const period = PERIODS[partitions];
  const since = isEmpty ? 0 : Math.floor((Date.now() - FIRST_MONDAY) / period + 1) * period + FIRST_MONDAY;
  await sql.query(`INSERT INTO "${schema}".partitioning VALUES (${period}, ${since})`);
  for (const { table, key, fillfactor } of PARTITIONED)
    await tables.partition(table, key, fillfactor, isEmpty ? undefined : since);
  await tables.makeAhead();
}

/** The reverse: each table is one again. */
export async function uniteSagaTables(sql: QueryRunner, schema: string): Promise<void> {
  const tables = new SagaTables(sql, schema);
  for (const { table, fillfactor } of PARTITIONED) await tables.unite(table, fillfactor);
  await run(sql, unpartitionStatements(schema));
}

/** Runs statements, in their order. */
export async function run(sql: Pick<QueryRunner, 'query'>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.query(statement);
}

/** What is done to each of the tables. */
class SagaTables {
  private readonly quoted: string;

  constructor(
    private readonly sql: QueryRunner,
    schema: string,
  ) {
    this.quoted = `"${schema}"`;
  }

  async isEmpty(table: string): Promise<boolean> {
    const rows = (await this.sql.query(`SELECT FROM ${this.quoted}.${table} LIMIT 1`)) as object[];
    return rows.length === 0;
  }

  /** @param since what is older becomes the first partition; undefined: there is nothing */
  async partition(table: string, key: string, fillfactor: number, since: number | undefined): Promise<void> {
    const [whole, before, rest] = [table, `${table}_before`, `${table}_rest`].map(
      (t) => `${this.quoted}.${t}`,
    );
    const indexes = await this.indexesOf(table);
    await this.sql.query(`ALTER TABLE ${whole} RENAME TO ${table}_before`);
    for (const { name } of indexes) {
      if (UNIQUE_OVER_ALL.includes(name)) await this.sql.query(`DROP INDEX ${this.quoted}.${name}`);
      else await this.sql.query(`ALTER INDEX ${this.quoted}.${name} RENAME TO ${name}_before`);
    }
    await this.sql.query(
      `CREATE TABLE ${whole} (LIKE ${before} INCLUDING DEFAULTS) PARTITION BY RANGE (${key})`,
    );
    await this.sql.query(
      `CREATE TABLE ${rest} (LIKE ${before} INCLUDING DEFAULTS) WITH (fillfactor = ${fillfactor})`,
    );
    await this.grantAs(`${table}_before`, table);
    await this.createIndexes(table, indexes, (definition) => definition.replace('UNIQUE ', ''));
    if (since === undefined) await this.sql.query(`DROP TABLE ${before}`);
    else {
      const bound = `${this.quoted}.partition_bound(${since})`;
      await this.sql.query(`
        WITH later AS (DELETE FROM ${before} WHERE ${key} >= ${bound} RETURNING *)
        INSERT INTO ${rest} SELECT * FROM later`);
      const [{ limit } = { limit: '' }] = (await this.sql.query(`SELECT ${bound} AS limit`)) as {
        limit: string;
      }[];
      await this.sql.query(
        `ALTER TABLE ${whole} ATTACH PARTITION ${before} FOR VALUES FROM (MINVALUE) TO ('${limit}')`,
      );
    }
    await this.sql.query(`ALTER TABLE ${whole} ATTACH PARTITION ${rest} DEFAULT`);
  }

  /** The other way round. */
  async unite(table: string, fillfactor: number): Promise<void> {
    const [whole, parts] = [table, `${table}_parts`].map((t) => `${this.quoted}.${t}`);
    const indexes = await this.indexesOf(table);
    await this.sql.query(`ALTER TABLE ${whole} RENAME TO ${table}_parts`);
    await this.sql.query(
      `CREATE TABLE ${whole} (LIKE ${parts} INCLUDING DEFAULTS) WITH (fillfactor = ${fillfactor})`,
    );
    await this.grantAs(`${table}_parts`, table);
    await this.sql.query(`INSERT INTO ${whole} SELECT * FROM ${parts}`);
    await this.sql.query(`DROP TABLE ${parts}`);
    await this.createIndexes(table, indexes, (definition) =>
      definition.replace('CREATE INDEX', 'CREATE UNIQUE INDEX'),
    );
  }

  async makeAhead(): Promise<void> {
    for (let made = true; made;) {
      const [row] = (await this.sql.query(`SELECT ${this.quoted}.partition_ahead(1) AS made`)) as {
        made: boolean;
      }[];
      made = row!.made;
    }
  }

  /** Grants the roles that may use one table the same rights on the other. */
  async grantAs(from: string, to: string): Promise<void> {
    const rights = (await this.sql.query(
      `SELECT a.privilege_type AS privilege, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS role
       FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
       WHERE c.oid = to_regclass($1) AND a.grantee <> c.relowner`,
      [`${this.quoted}.${from}`],
    )) as { privilege: string; role: string }[];
    for (const { privilege, role } of rights)
      await this.sql.query(`GRANT ${privilege} ON ${this.quoted}.${to} TO ${role}`);
  }

  private indexesOf(table: string): Promise<Index[]> {
    return this.sql.query(
      `SELECT c.relname AS name, replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') AS definition,
         CASE WHEN i.indisprimary THEN pg_get_constraintdef(k.oid) END AS key
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype = 'p'
       WHERE i.indrelid = to_regclass($1)`,
      [`${this.quoted}.${table}`],
    );
  }

  private async createIndexes(
    table: string,
    indexes: readonly Index[],
    overAll: (definition: string) => string,
  ): Promise<void> {
    for (const { name, definition, key } of indexes) {
      if (key !== null) await this.sql.query(`ALTER TABLE ${this.quoted}.${table} ADD ${key}`);
      else await this.sql.query(UNIQUE_OVER_ALL.includes(name) ? overAll(definition) : definition);
    }
  }
}
