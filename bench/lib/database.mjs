// Databases of the server that PGURL names.
import pg from 'pg';

const BASE = process.env.PGURL;
if (!BASE) {
  console.error('Set PGURL, e.g. postgres://postgres:pw@127.0.0.1:5499/postgres');
  process.exit(2);
}

export function dbUrl(db) {
  const url = new URL(BASE);
  url.pathname = `/${db}`;
  return url.toString();
}

export const client = (db) => connect(dbUrl(db));

export async function connect(url) {
  const c = new pg.Client({ connectionString: url });
  await c.connect();
  return c;
}

/**
 * A statement on the server's own database, so that it is not counted.
 * @param url of another server than that of PGURL
 */
export async function admin(sql, params, url = BASE) {
  const c = await connect(url);
  try {
    return (await c.query(sql, params)).rows;
  } finally {
    await c.end();
  }
}

export async function makeDatabase(db) {
  await admin('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  await dropDatabase(db);
  await admin(`CREATE DATABASE ${db}`);
}

export const dropDatabase = (db) => admin(`DROP DATABASE IF EXISTS ${db} WITH (FORCE)`);
