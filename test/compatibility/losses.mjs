import { setTimeout as sleep } from 'node:timers/promises';
import { execute } from '../support/execute.mjs';

/**
 * Breaks the server once the program reports that its sagas are running. Every connection is ended three
 * times, as by an administrator or a failover. The server then goes down once as in a power failure, and
 * restarts.
 * @param {import('../support/embedded-postgres.mjs').EmbeddedServer} server
 * @returns {{ onLine: (line: string) => void, done: () => Promise<void> }} `onLine` receives each line that
 * the program prints. `done` resolves once all breaks have happened, and rejects otherwise
 */
export function breakConnections(server) {
  let broken = Promise.reject(new Error('The program never reported that its sagas are running'));
  broken.catch(() => undefined);
  return {
    onLine: (line) => {
      if (line.trim() !== 'sagas running') return;
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
  const { rowCount } = await execute(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  if (rowCount === 0) throw new Error('There was no connection to end: the program has none');
}
