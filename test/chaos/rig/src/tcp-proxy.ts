import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What becomes of the bytes of one direction. */
export type Treatment =
  | { readonly kind: 'pass' }
  /** They are swallowed; the sockets stay open. */
  | { readonly kind: 'drop' }
  /** They arrive so many milliseconds later. */
  | { readonly kind: 'delay'; readonly by: () => number }
  /** They trickle: so many bytes a second on each connection. */
  | { readonly kind: 'throttle'; readonly perSecond: number };

const PASS: Treatment = { kind: 'pass' };
/** After this long (ms) the side that is left of a connection that is only half there learns of it. */
const KEEPALIVE = 20_000;
const LISTEN = Buffer.from('LISTEN "');

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** It has sent LISTEN: what comes back on it are announcements. */
  listens: boolean;
  /**
   * Cut off for good: whatever comes later on it is swallowed as well, as by a firewall that has forgotten
   * it.
   */
  dead: boolean;
  /** From now on the end of one side is no longer passed to the other. */
  broken: boolean;
}

/** Stands between the processes and PostgreSQL, and does to their connections what networks do. */
export class TcpProxy {
  private readonly links = new Set<Link>();
  private refuses = false;
  private toServer: Treatment = PASS;
  private toClient: Treatment = PASS;
  private lastWords: { readonly text: string; readonly then: 'silence' | 'reset' } | undefined;
  /** The mode of connections that have sent LISTEN. Default: the mode of the others. */
  private toListeners: ((data: Buffer) => boolean) | undefined;

  private constructor(
    private readonly server: Server,
    private target: { host: string; port: number },
  ) {
    server.on('connection', (client) => (this.refuses ? void client.resetAndDestroy() : this.link(client)));
  }

  static async before(target: { host: string; port: number }): Promise<TcpProxy> {
    // Half-closed connections are the proxy's to pass on.
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new TcpProxy(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on, connections that there are and those to come. */
  treat(toServer: Treatment, toClient: Treatment = toServer): void {
    this.toServer = toServer;
    this.toClient = toClient;
  }

  /**
   * Announcements are swallowed for which this is true, and whatever else comes on the connections that
   * listen.
   */
  deafen(swallows: ((data: Buffer) => boolean) | undefined): void {
    this.toListeners = swallows;
  }

  /** The address leads to no server: its connections are reset, and new ones are refused. */
  refuse(): void {
    this.refuses = true;
    this.cut();
  }

  /** The address is that of another server from now on. Connections to the one before stay with it. */
  pointTo(port: number): void {
    this.target = { ...this.target, port };
    this.refuses = false;
  }

  /** Lets everything pass again, on those connections that are not dead. */
  heal(): void {
    this.treat(PASS);
    this.deafen(undefined);
  }

  /** Resets a share of the connections. */
  cut(share = 1, random = Math.random): number {
    const cut = [...this.links].filter(() => random() < share);
    for (const link of cut) this.end(link);
    return cut.length;
  }

  /** A share of the connections becomes silent without notice. `heal` does not repair them. */
  forget(share = 1, random = Math.random): number {
    const forgotten = [...this.links].filter(() => random() < share);
    for (const link of forgotten) link.dead = true;
    return forgotten.length;
  }

  /** The next connection that is to carry these words to the server goes silent at that moment, with them. */
  forgetAt(words: string): void {
    this.lastWords = { text: words, then: 'silence' };
  }

  /** The next connection that is to carry these words to the server is reset at that moment. */
  cutAt(words: string): void {
    this.lastWords = { text: words, then: 'reset' };
  }

  /** Connections on which something was swallowed. */
  get silent(): number {
    return [...this.links].filter(({ broken }) => broken).length;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const link of this.links) this.end(link);
    await closed;
  }

  private link(client: Socket): void {
    const server = connect({ ...this.target, noDelay: true, allowHalfOpen: true });
    const link: Link = { client, server, listens: false, dead: false, broken: false };
    this.links.add(link);
    this.pump(link, client, server, (data) => {
      link.listens ||= data.includes(LISTEN);
      if (this.lastWords !== undefined && data.includes(this.lastWords.text)) {
        link.dead = true;
        if (this.lastWords.then === 'reset') this.end(link);
        this.lastWords = undefined;
      }
      return link.dead ? { kind: 'drop' } : this.toServer;
    });
    this.pump(link, server, client, (data) => {
      if (link.dead || (link.listens && this.toListeners?.(data))) return { kind: 'drop' };
      return this.toClient;
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => {
        if (other.destroyed) this.links.delete(link);
        else if (link.dead || link.broken) setTimeout(() => this.end(link), KEEPALIVE).unref();
        else this.end(link);
      });
    }
  }

  /** Copies in order; what is treated slowly holds up what comes after it. */
  private pump(link: Link, from: Socket, to: Socket, treatmentOf: (data: Buffer) => Treatment): void {
    let before = Promise.resolve();
    let broken = false;
    from.on('data', (data) => {
      const treatment = treatmentOf(data);
      // A stream with a hole in it is no stream: nothing comes through any more.
      broken ||= treatment.kind === 'drop' && !isAnnouncement(data);
      link.broken ||= broken;
      if (broken || treatment.kind === 'drop') return;
      from.pause();
      before = before.then(async () => {
        await slowly(treatment, data.length);
        if (to.writable) to.write(data);
        from.resume();
      });
    });
    from.on('end', () => {
      if (link.broken || link.dead) from.destroy();
      else before = before.then(() => void to.end());
    });
  }

  private end(link: Link): void {
    this.links.delete(link);
    for (const socket of [link.client, link.server]) {
      if (socket.destroyed) continue;
      // A socket whose end was sent cannot be reset: libuv refuses it, and Node would leave the socket open.
      if (socket.connecting || socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }
}

/** NotificationResponse: a message of its own, without which the stream is whole. */
export function isAnnouncement(data: Buffer): boolean {
  return data[0] === 0x41;
}

async function slowly(treatment: Treatment, bytes: number): Promise<void> {
  const time =
    treatment.kind === 'delay'
      ? treatment.by()
      : treatment.kind === 'throttle'
        ? (bytes / treatment.perSecond) * 1_000
        : 0;
  if (time > 0) await new Promise((resolve) => setTimeout(resolve, time));
}
