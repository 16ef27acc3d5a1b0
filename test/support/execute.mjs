import pg from 'pg';

/** Executes statements on a connection of its own. */
export async function execute(url, statements) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(statements);
  } finally {
    await client.end();
  }
}
