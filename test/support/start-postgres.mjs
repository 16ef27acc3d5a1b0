/** The server of this test run, if it has one of its own. */
export let server;

/**
 * Commits do not wait for the disk, which would take most of the time of a test. This only matters when the operating
 * system crashes. Specs about the server's crashes and about waiting for the disk start servers of their own.
 */
export const WITHOUT_DISK = { fsync: 'off', full_page_writes: 'off' };

/**
 * Jest's globalSetup: one PostgreSQL for the whole run, at TEST_DATABASE_URL, which the worker processes
 * inherit. If the environment names a server already, that one is used; with TEST_POSTGRES_IMAGE (say,
 * `postgres:15`) and a Docker engine, a container of that image; otherwise the embedded one from npm.
 */
export default async function startPostgres() {
  if (process.env.TEST_DATABASE_URL) return;
  server = await (process.env.TEST_POSTGRES_IMAGE
    ? startContainer(process.env.TEST_POSTGRES_IMAGE)
    : startEmbedded());
  process.env.TEST_DATABASE_URL = server.url;
}

export async function stopPostgres() {
  if (!server) return;
  await server.stop();
  server = undefined;
  delete process.env.TEST_DATABASE_URL;
}

async function startEmbedded() {
  const { startEmbeddedPostgres } = await import('./embedded-postgres.mjs');
  return startEmbeddedPostgres({ settings: WITHOUT_DISK });
}

async function startContainer(image) {
  const { startPostgresContainer } = await import('./postgres-container.mjs');
  return startPostgresContainer(image);
}
