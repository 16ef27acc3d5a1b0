import type { PgClient, PgPool } from './pg-types.js';

const pools = new WeakSet<PgPool>();

/**
 * Keeps the process alive when connections are lost. A pool of pg that nothing listens to ends it when the server closes a
 * connection that is idle. And those who take a connection may listen for its errors only a moment later: an error that comes
 * in between would find no listener.
 */
export function surviveLostConnections(pool: PgPool): void {
  if (pools.has(pool)) return;
  pools.add(pool);
  pool.on('error', () => undefined);
  const surviving = new WeakSet<PgClient>();
  pool.on('acquire', (client) => {
    if (surviving.has(client)) return;
    surviving.add(client);
    client.on('error', () => undefined);
  });
}
