import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A load balancer: each request goes to the next of some ports that answers. */
export class Balancer {
  private readonly server = createServer();
  private readonly clients = new Set<ServerHttp2Session>();
  private readonly sessions = new Map<number, ClientHttp2Session>();
  private turn = 0;

  private constructor(private readonly ports: readonly number[]) {
    this.server.on('session', (client) => this.clients.add(client));
    this.server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      const request = this.next().request(headers, { endStream: false });
      const cut = () => !stream.destroyed && stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      request.on('error', cut);
      request.on('close', cut);
      stream.on('close', () => request.close());
      pass(stream, request);
    });
  }

  static async over(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    balancer.server.listen(0, '127.0.0.1');
    await once(balancer.server, 'listening');
    return balancer;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const session of [...this.clients, ...this.sessions.values()]) session.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private next(): ClientHttp2Session {
    const port = this.ports[(this.turn += 1) % this.ports.length]!;
    const open = this.sessions.get(port);
    if (open && !open.closed && !open.destroyed) return open;
    const session = connect(`http://127.0.0.1:${port}`);
    session.on('error', () => this.sessions.delete(port));
    session.on('close', () => this.sessions.delete(port));
    this.sessions.set(port, session);
    return session;
  }
}

function pass(stream: ServerHttp2Stream, request: ReturnType<ClientHttp2Session['request']>): void {
  request.on('response', (headers) => {
    if (!stream.destroyed) stream.respond(headers);
  });
  stream.pipe(request);
  request.pipe(stream);
}
