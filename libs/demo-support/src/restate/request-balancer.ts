import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

/** A load balancer: each request goes to the next of some ports that answers. */
export class RequestBalancer {
  private readonly server = createServer();
  private readonly clients = new Set<ServerHttp2Session>();
  private readonly sessions = new Map<number, ClientHttp2Session>();
  private turn = 0;

  private constructor(private readonly ports: readonly number[]) {
    this.server.on('session', (client) => this.clients.add(client));
    this.server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      void this.next().then((session) => pass(stream, headers, session));
    });
  }

  static async over(ports: readonly number[]): Promise<RequestBalancer> {
    const balancer = new RequestBalancer(ports);
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

  /** Undefined: no port answers. */
  private async next(): Promise<ClientHttp2Session | undefined> {
    for (const _ of this.ports) {
      const session = await this.sessionOf(this.ports[(this.turn += 1) % this.ports.length]!);
      if (session) return session;
    }
    return undefined;
  }

  private async sessionOf(port: number): Promise<ClientHttp2Session | undefined> {
    const open = this.sessions.get(port);
    if (open && !open.closed && !open.destroyed) return open;
    const session = connect(`http://127.0.0.1:${port}`);
    session.on('error', () => undefined);
    try {
      await once(session, 'connect');
    } catch {
      return undefined;
    }
    this.sessions.set(port, session);
    return session;
  }
}

function pass(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  session: ClientHttp2Session | undefined,
): void {
  const cut = () => !stream.destroyed && stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  if (!session || session.destroyed || session.closed) return void cut();
  const request = session.request(headers, { endStream: false });
  request.on('error', cut);
  request.on('close', cut);
  stream.on('close', () => request.close());
  request.on('response', (answer) => {
    if (!stream.destroyed) stream.respond(answer);
  });
  stream.pipe(request);
  request.pipe(stream);
}
