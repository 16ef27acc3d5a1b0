import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** A database that exists for one run of the demo, on whichever server: what else is there stays untouched. */
export class ThrowawayDatabase {
  private constructor(
    private readonly server: string,
    readonly name: string,
    readonly url: string,
  ) {}

  /** @param purpose the beginning of its name */
  static async create(server: string, purpose: string): Promise<ThrowawayDatabase> {
    const name = `${purpose}_${randomBytes(6).toString('hex')}`;
    await execute(server, `CREATE DATABASE ${name}`);
    const url = new URL(server);
    url.pathname = `/${name}`;
    return new ThrowawayDatabase(server, name, url.href);
  }

  async query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    return execute<Row>(this.url, sql);
  }

  /** Open connections are closed. */
  async drop(): Promise<void> {
    await execute(this.server, `DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`);
  }
}

async function execute<Row extends pg.QueryResultRow>(connectionString: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
