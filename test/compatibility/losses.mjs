import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/**
 * What happens to the server once the program says that its sagas are under way: three times every connection is ended, as
 * by an administrator or a failover, and once the server goes down as if the power had gone, and comes back.
 * @param {import('../support/embedded-postgres.mjs').EmbeddedServer} server
 * @returns {{ onLine: (line: string) => void, done: () => Promise<void> }} hears what the program says; `done` resolves
 *   once all of it has happened, and rejects if it has not
 */
export function breakConnections(server) {
  let broken = Promise.reject(new Error('The program never said that its sagas are under way'));
  broken.catch(() => undefined);
  return {
    onLine: (line) => {
      if (line.trim() !== 'under way') return;
      broken = breakIt(server);
      broken.catch(() => undefined);
    },
    done: () => broken,
  };
}

async function breakIt(server) {
  for (let time = 0; time < 3; time += 1) {
    await endAllConnections(server.url);
    await sleep(400);
  }
  await server.restartImmediately();
}

async function endAllConnections(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rowCount } = await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  await client.end();
  if (rowCount === 0) throw new Error('There was no connection to end: the program has none');
}
