/** The parts of a DatabaseModule that differ between database layers. */
export interface DatabaseParts {
  /** The imports: what, and from where. Sorted by module. */
  readonly imports: readonly (readonly [clause: string, from: string])[];
  /** Types that the application extends, with their comments. */
  readonly types?: string;
  /** The type of what the application injects as DATABASE. */
  readonly database: string;
  /** The type of a transaction. */
  readonly transaction: string;
  /** Connects to `url`. */
  readonly connect: string;
  /** What `connect` returns is a promise. */
  readonly connectsLater?: true;
  /** The database of a \`pool\`, if \`connect\` returns a pool. Otherwise \`connect\` returns the database. */
  readonly overPool?: string;
  /** The database of sagas, of `db` and of `pool` if there is one. */
  readonly adapter: string;
  /** Ends the connections of `this.db`. */
  readonly end: string;
  /** A file that the layer needs, unless it exists. */
  readonly file?: { readonly path: string; readonly text: string; readonly about: string };
  /** A TypeScript file that the module imports, and the command of an installed package that generates it. */
  readonly generated?: { readonly file: string; readonly command: readonly string[] };
  /** What is generated, as a line of .gitignore. */
  readonly ignored?: string;
}

export const NEW_POOL = 'new Pool({ connectionString: url })';

export const PG_PARTS: DatabaseParts = {
  imports: [
    ['{ pgDatabase }', 'nestjs-durable-saga/pg'],
    ['{ Pool, type PoolClient }', 'pg'],
  ],
  ...{ database: 'Pool', transaction: 'PoolClient', connect: NEW_POOL },
  ...{ adapter: 'pgDatabase(db)', end: 'this.db.end()' },
};

export const DRIZZLE_PARTS: DatabaseParts = {
  imports: [
    ['{ drizzle, type NodePgDatabase }', 'drizzle-orm/node-postgres'],
    ['{ drizzleDatabase, type DrizzleTransaction }', 'nestjs-durable-saga/drizzle'],
    ['{ Pool }', 'pg'],
  ],
  ...{ database: 'NodePgDatabase & { $client: Pool }', transaction: 'DrizzleTransaction<Database>' },
  ...{ connect: NEW_POOL, overPool: 'drizzle({ client: pool })' },
  ...{ adapter: 'drizzleDatabase(db)', end: 'this.db.$client.end()' },
};

export const KYSELY_PARTS: DatabaseParts = {
  imports: [
    ['{ Kysely, PostgresDialect, type Transaction as KyselyTransaction }', 'kysely'],
    ['{ kyselyDatabase }', 'nestjs-durable-saga/kysely'],
    ['{ Pool }', 'pg'],
  ],
  types:
    '/** The tables of the application: replace it with their interface. */\nexport type Schema = object;\n',
  ...{ database: 'Kysely<Schema>', transaction: 'KyselyTransaction<Schema>' },
  ...{ connect: NEW_POOL, overPool: 'new Kysely({ dialect: new PostgresDialect({ pool }) })' },
  ...{ adapter: 'kyselyDatabase(db, pool)', end: 'this.db.destroy()' },
};

export const KNEX_PARTS: DatabaseParts = {
  imports: [
    ['knex, { type Knex }', 'knex'],
    ['{ knexDatabase }', 'nestjs-durable-saga/knex'],
  ],
  ...{ database: 'Knex', transaction: 'Knex.Transaction' },
  connect: `knex({ client: 'pg', connection: url })`,
  ...{ adapter: 'knexDatabase(db)', end: 'this.db.destroy()' },
};
