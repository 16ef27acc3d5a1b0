import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SagaStateError } from 'nestjs-durable-saga';
import type { Callers } from '../access/callers.js';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A certificate with its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface FrontOptions {
  readonly callers: Callers;
  readonly certificate?: Certificate;
  /**
   * The names of this host by which requests may come. Undefined: any. Without authentication, a page of another site
   * could otherwise reach the daemon of its reader by a name that resolves to 127.0.0.1.
   */
  readonly hosts?: readonly string[];
  /** The answers of paths that need authentication. All other paths are the application's. */
  readonly pages: Readonly<Record<string, Answer>>;
  /** The answers of paths that everybody may request. */
  readonly open: Readonly<Record<string, Answer>>;
  /** The application. */
  readonly application: () => Answer;
}

/** How long (ms) the body of a request may take to arrive, and a request to be answered, while a reload waits for it. */
const BODY_GRACE = 2_000;
const CHANGE_GRACE = 10_000;
/** Milliseconds between two looks at them. */
const INTERVAL = 10;

/** The HTTP server of a daemon. It identifies callers, and passes their requests on to the application of the moment. */
export class Front {
  private readonly server: Server | TlsServer;
  private held: Promise<void> | undefined;
  private release: () => void = () => undefined;
  /** Requests that may start sagas, or change them, and are not answered. */
  private readonly changing = new Set<IncomingMessage>();
  private closed: Promise<void> = Promise.resolve();

  constructor(private readonly options: FrontOptions) {
    const { certificate } = options;
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.pass(request, response);
    this.server = certificate ? createTlsServer({ ...certificate }, listener) : createServer(listener);
  }

  async listen(port: number, host: string): Promise<AddressInfo> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    return this.server.address() as AddressInfo;
  }

  /** New connections use this certificate. */
  renew(certificate: Certificate): void {
    if ('setSecureContext' in this.server) this.server.setSecureContext({ ...certificate });
  }

  /**
   * Holds requests back until `resume`. Resolves once none that changes sagas is in progress. A request whose body does not
   * arrive within 2 s is ended: it has changed nothing.
   * @throws SagaStateError if others are in progress for 10 s
   */
  async hold(): Promise<void> {
    this.held = new Promise((resolve) => (this.release = resolve));
    await this.unchanged(BODY_GRACE);
    for (const request of this.changing) if (!request.complete) request.destroy();
    await this.unchanged(CHANGE_GRACE);
    const { size } = this.changing;
    if (size === 0) return;
    const what = size === 1 ? 'request that changes sagas has' : 'requests that change sagas have';
    throw new SagaStateError(
      `${size} ${what} not ended within ${CHANGE_GRACE / 1_000} s. Repeat the reload later (SIGHUP).`,
    );
  }

  /** Resolves once no request changes sagas, but after `bound` ms at the latest. */
  private async unchanged(bound: number): Promise<void> {
    const until = performance.now() + bound;
    while (this.changing.size > 0 && performance.now() < until) await sleep(INTERVAL);
  }

  resume(): void {
    this.held = undefined;
    this.release();
  }

  /** Accepts nothing more, and ends connections without a request. */
  stop(): void {
    this.closed = new Promise((resolve) => this.server.close(() => resolve()));
    this.server.closeIdleConnections();
  }

  /** Ends the connections that are left after `grace` (ms). */
  async close(grace: number): Promise<void> {
    const timer = setTimeout(() => this.server.closeAllConnections(), grace);
    await this.closed;
    clearTimeout(timer);
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { open, pages, callers, hosts, application } = this.options;
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    if (hosts && !hosts.includes(hostOf(request)))
      return refuse(
        response,
        403,
        'SAGA_HOST',
        `Requests must name one of these hosts: ${hosts.join(', ')}.`,
      );
    const isOpen = Object.hasOwn(open, path);
    if (isOpen) return open[path]!(request, response);
    if (!callers.identify(request)) {
      response.setHeader('www-authenticate', 'Basic realm="saga", charset="UTF-8"');
      return refuse(response, 401, 'SAGA_UNAUTHORIZED', 'Send a token: authorization: Bearer <token>.');
    }
    if (Object.hasOwn(pages, path)) return pages[path]!(request, response);
    await this.held;
    // Its client has disconnected meanwhile.
    if (response.closed) return;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      this.changing.add(request);
      response.once('close', () => this.changing.delete(request));
    }
    application()(request, response);
  }
}

/** Sends an error as the REST API does. */
export function refuse(response: ServerResponse, statusCode: number, code: string, message: string): void {
  send(response, statusCode, { statusCode, code, message });
}

export function send(response: ServerResponse, statusCode: number, body: object): void {
  response.statusCode = statusCode;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  response.end(JSON.stringify(body));
}

/** Without its port. */
function hostOf({ headers }: IncomingMessage): string {
  return (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
}
