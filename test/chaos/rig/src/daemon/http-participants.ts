import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { RigInput } from '../programs/rig-sagas.js';

/** The other services over HTTP: an effect is applied once per idempotency key, and calls are counted. */
export class HttpParticipants {
  private constructor(
    private readonly server: Server,
    private readonly pool: pg.Pool,
  ) {}

  static async start(databaseUrl: string): Promise<HttpParticipants> {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
    pool.on('error', () => undefined);
    const server = createServer((request, response) => {
      answer(request, pool).then(
        ([status, body]) => response.writeHead(status, { 'content-type': 'application/json' }).end(body),
        () => response.writeHead(500).end(),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HttpParticipants(server, pool);
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), 'close');
    await this.pool.end();
  }
}

/** The status and the body of an answer. */
async function answer(request: IncomingMessage, pool: pg.Pool): Promise<[number, string]> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part as string;
  const { url, headers } = request;
  if (!url!.endsWith('/compensate')) {
    const { shaky, refused } = JSON.parse(text) as RigInput;
    if (url === '/charge' && shaky && headers['saga-attempt'] === '1') return [503, '{}'];
    if (url === '/confirm' && refused) return [422, '{}'];
  }
  // A moment before and after the effect, so that kills come on either side of it.
  await sleep(Math.random() * 20);
  const { rows } = await pool.query<{ seq: string | null }>('SELECT apply($1, $2) AS seq', [
    headers['idempotency-key'],
    headers['saga-id'],
  ]);
  await sleep(Math.random() * 20);
  return rows[0]!.seq === null ? [409, '{}'] : [200, JSON.stringify({ seq: rows[0]!.seq })];
}
