import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What is answered to a statement instead of its result. */
export interface Answer {
  /** Default: ERROR. After FATAL the connection is closed, as the server does. */
  readonly severity?: 'ERROR' | 'FATAL';
  /** Undefined: the answer has no SQLSTATE, as those of some poolers. */
  readonly code?: string;
  /** The statement is executed, and only its result is replaced. */
  readonly isExecuted?: boolean;
}

/** What happens to a statement. Undefined: it is executed. */
export type AnswerTo = (text: string) => Answer | undefined;

interface Message {
  readonly type: string;
  readonly body: Buffer;
  readonly bytes: Buffer;
}

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** The texts of prepared statements, by name. */
  readonly prepared: Map<string, string>;
  /** What the client has sent of the command that is not complete yet. */
  command: Buffer[];
  text: string;
  /** Replaces the result of the statement that is executed. */
  answer: Answer | undefined;
}

/** A code of this request stands in place of the protocol's version. */
const CANCEL = 80_877_102;
/** The messages of a server that are the result of a statement: of its preparation, its rows and its end. */
const OF_RESULTS = ['1', '2', '3', 'n', 't', 'T', 'D', 'C', 'I', 's'];
/** Process ids that no operating system gives. */
const FIRST_INVENTED = 2_000_000_000;

/**
 * Stands between an application and PostgreSQL and speaks their protocol: it answers statements itself, as servers and poolers
 * do that have trouble, and invents process ids, as poolers do. A statement that it answers fails on the server as well, so
 * that the transaction on both sides is the same.
 */
export class AnsweringProxy {
  answerTo: AnswerTo = () => undefined;
  /** What is answered to a client that connects. */
  answerToConnecting: () => Answer | undefined = () => undefined;
  /** Process ids are not those of the server. */
  inventsIds = false;
  private readonly links = new Set<Link>();
  private readonly realIds = new Map<number, number>();

  private constructor(
    private readonly server: Server,
    private target: URL,
  ) {
    server.on('connection', (client) => this.accept(client));
  }

  /** @param url of a database behind the proxy */
  static async before(url: string): Promise<AnsweringProxy> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new AnsweringProxy(server, new URL(url));
  }

  /** The database, through the proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** New connections lead to this server. Those that there are stay. */
  pointTo(url: string): void {
    this.target = new URL(url);
  }

  /** Ends all connections. */
  cut(): void {
    for (const { client, server } of this.links) for (const socket of [client, server]) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.cut();
    await closed;
  }

  private accept(client: Socket): void {
    const server = connect({ host: this.target.hostname, port: Number(this.target.port), noDelay: true });
    const link: Link = { client, server, prepared: new Map(), command: [], text: '', answer: undefined };
    this.links.add(link);
    const toServer = messages(true);
    const toClient = messages(false);
    client.on('data', (data) => {
      for (const message of toServer(data)) this.fromClient(link, message);
    });
    server.on('data', (data) => {
      for (const message of toClient(data)) this.fromServer(link, message);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => {
        this.links.delete(link);
        other.destroy();
      });
    }
  }

  private fromClient(link: Link, { type, body, bytes }: Message): void {
    if (type === '') return this.connecting(link, body, bytes);
    if (type === 'p' || type === 'X') return void link.server.write(bytes);
    link.command.push(bytes);
    if (type === 'Q') link.text = textAt(body, 0);
    if (type === 'P') {
      const name = textAt(body, 0);
      link.text = textAt(body, Buffer.byteLength(name) + 1);
      link.prepared.set(name, link.text);
    }
    if (type === 'B') {
      const portal = textAt(body, 0);
      link.text = link.prepared.get(textAt(body, Buffer.byteLength(portal) + 1)) ?? '';
    }
    // postgres.js waits for what the server says of a statement, before it sends its values.
    if (type === 'H') return void link.server.write(Buffer.concat(link.command.splice(0)));
    if (type !== 'Q' && type !== 'S') return;
    const command = Buffer.concat(link.command.splice(0));
    link.answer = this.answerTo(link.text);
    const isReplaced = link.answer !== undefined && !link.answer.isExecuted;
    link.server.write(isReplaced ? query(`DO $$ BEGIN RAISE 'answered'; END $$`) : command);
  }

  private connecting(link: Link, body: Buffer, bytes: Buffer): void {
    const answer = this.answerToConnecting();
    if (answer) return void link.client.end(errorOf({ ...answer, severity: 'FATAL' }));
    if (body.readInt32BE(0) === CANCEL) {
      const id = body.readInt32BE(4);
      bytes.writeInt32BE(this.realIds.get(id) ?? id, 8);
    }
    link.server.write(bytes);
  }

  private fromServer(link: Link, { type, body, bytes }: Message): void {
    if (type === 'K' && this.inventsIds) {
      const invented = FIRST_INVENTED + this.realIds.size;
      this.realIds.set(invented, body.readInt32BE(0));
      bytes.writeInt32BE(invented, 5);
    }
    const { answer } = link;
    if (!answer) return void link.client.write(bytes);
    if (answer.isExecuted && OF_RESULTS.includes(type)) return;
    if (type !== 'E' && !(answer.isExecuted && type === 'Z')) return void link.client.write(bytes);
    link.answer = undefined;
    // The statement failed by itself.
    if (answer.isExecuted && type === 'E') return void link.client.write(bytes);
    if (answer.severity === 'FATAL') return void link.client.end(errorOf(answer));
    link.client.write(errorOf(answer));
    if (type === 'Z') link.client.write(bytes);
  }
}

/** Cuts a stream of the protocol into its messages. The first one of a client has no type. */
function messages(isOfClient: boolean): (data: Buffer) => Message[] {
  let rest = Buffer.alloc(0);
  let hasType = !isOfClient;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    const found: Message[] = [];
    for (;;) {
      const start = hasType ? 1 : 0;
      if (rest.length < start + 4) return found;
      const end = start + rest.readInt32BE(start);
      if (rest.length < end) return found;
      const bytes = Buffer.from(rest.subarray(0, end));
      found.push({
        type: hasType ? String.fromCharCode(bytes[0]!) : '',
        body: bytes.subarray(start + 4),
        bytes,
      });
      rest = rest.subarray(end);
      hasType = true;
    }
  };
}

function textAt(body: Buffer, start: number): string {
  return body.toString('utf8', start, body.indexOf(0, start));
}

function query(text: string): Buffer {
  return message('Q', Buffer.from(`${text}\0`));
}

function errorOf({ severity = 'ERROR', code }: Answer): Buffer {
  const fields = [
    `S${severity}`,
    `V${severity}`,
    ...(code === undefined ? [] : [`C${code}`]),
    `Manswered by the proxy`,
  ];
  return message('E', Buffer.from(`${fields.join('\0')}\0\0`));
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}
