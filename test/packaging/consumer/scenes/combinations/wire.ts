import { connect, createServer, type Socket } from 'node:net';

/** An answer of a server or a pooler in the place of PostgreSQL's. */
export interface Answer {
  readonly code: string;
  readonly message: string;
  /** The connection is closed after it. */
  readonly fatal: boolean;
}

function errorOf({ code, message, fatal }: Answer): Buffer {
  const severity = fatal ? 'FATAL' : 'ERROR';
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E', 0);
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

const READY = Buffer.from('5a0000000549', 'hex');
const SYNC = 0x53;
const QUERY = 0x51;

/** A proxy before PostgreSQL. What it does beyond passing messages on is set by its properties. */
export class Wire {
  /** The next message that contains the text is answered so, and not passed on. */
  private next: { readonly text: string; readonly answer: Answer } | undefined;
  /** Connections that answer every statement with this, as those to a server that is a reader by now. */
  private readonly readers = new Map<Socket, Answer>();
  private readonly open = new Set<Socket>();
  answered = 0;

  private constructor(
    readonly url: string,
    private target: URL,
    private readonly stop: () => void,
  ) {}

  /** @param inventsProcessIds the ids of the server's processes are not passed on, as by a pooler */
  static async before(target: string, inventsProcessIds = false): Promise<Wire> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(target);
    url.hostname = '127.0.0.1';
    url.port = String((server.address() as { port: number }).port);
    const wire = new Wire(url.href, new URL(target), () => server.close());
    server.on('connection', (client) => {
      const { hostname, port } = wire.target;
      wire.accept(client, connect(Number(port), hostname), inventsProcessIds);
    });
    return wire;
  }

  answerNext(text: string, answer: Answer): void {
    this.next = { text, answer };
  }

  /** All connections of this moment lead to a reader; later ones do not. */
  becomeReader(): void {
    const answer = {
      code: '25006',
      message: 'cannot execute UPDATE in a read-only transaction',
      fatal: false,
    };
    for (const client of this.open) this.readers.set(client, answer);
  }

  /** Connections are cut, and lead to this server from now on. */
  leadTo(target: string): void {
    this.target = new URL(target);
    for (const client of this.open) client.destroy();
  }

  close(): void {
    for (const client of this.open) client.destroy();
    this.stop();
  }

  private accept(client: Socket, upstream: Socket, inventsProcessIds: boolean): void {
    this.open.add(client);
    let isOver = false;
    client.on('data', (data) => {
      if (isOver) return;
      const reader = this.readers.get(client);
      if (reader) return this.asReader(client, data, reader);
      const { next } = this;
      if (next && data.includes(next.text)) {
        this.next = undefined;
        this.answered += 1;
        isOver = true;
        client.end(errorOf(next.answer));
        return void upstream.destroy();
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (isOver) return;
      client.write(inventsProcessIds ? withInventedId(data) : data);
    });
    const end = () => {
      this.open.delete(client);
      this.readers.delete(client);
      if (!isOver) client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('close', end).on('error', end);
  }

  /** The server skips messages up to Sync after an error. */
  private asReader(client: Socket, data: Buffer, answer: Answer): void {
    for (let at = 0; at < data.length; at += 1 + data.readInt32BE(at + 1)) {
      if (data[at] !== SYNC && data[at] !== QUERY) continue;
      this.answered += 1;
      client.write(Buffer.concat([errorOf(answer), READY]));
    }
  }
}

const KEY_DATA = Buffer.from('4b0000000c', 'hex');
let invented = 1_000_000;

function withInventedId(data: Buffer): Buffer {
  const at = data.indexOf(KEY_DATA);
  if (at >= 0) data.writeInt32BE((invented += 1), at + KEY_DATA.length);
  return data;
}
