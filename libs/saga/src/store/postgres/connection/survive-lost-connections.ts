import type { PgClient, PgPool } from './pg-types.js';

const pools = new WeakSet<PgPool>();

/**
 * Those who take a connection may listen for its errors only a moment later. An error that comes in between (the server
 * is being shut down) would find no listener, and end the process.
 */
export function surviveLostConnections(pool: PgPool): void {
  if (pools.has(pool)) return;
  pools.add(pool);
  const surviving = new WeakSet<PgClient>();
  pool.on('acquire', (client) => {
    if (surviving.has(client)) return;
    surviving.add(client);
    client.on('error', () => undefined);
  });
}
