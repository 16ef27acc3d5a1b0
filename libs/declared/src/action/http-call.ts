import { type Dispatcher, request as send } from 'undici';
import { type ProbeAnswer, StepRejectedError, UnknownOutcomeError } from 'nestjs-durable-saga';
import { expressionsOf, filled, filledText, type TextTemplate, writtenText } from '../expression/template.js';
import { identityOf, type ProbeCall, StepCallError } from './call.js';
import { type CallContext, ExpressionValues, type Surroundings } from './expression-values.js';
import type { HttpDefinition } from '../format/call-format.js';
import { filledUrl } from './filled-url.js';
import type { HttpConnections } from './http-connections.js';
import { readTlsFiles, type TlsFiles } from './tls-files.js';
import { HostRefused } from '../network/network.js';

interface Prepared {
  readonly method: string;
  readonly url: URL;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly tls: TlsFiles;
  readonly proxy: URL | undefined;
}

interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const MAX_BYTES = 1024 * 1024;
/** Characters of a response that a message shows. */
const LONGEST_EXCERPT = 300;
/** Bytes of such a response that are read. */
const EXCERPT_BYTES = 4 * LONGEST_EXCERPT;
const REJECTED = [409, 422];
const RETRIED = [425, 429];
/** A gateway that has no answer of the server: the server may have done the work. */
const GATEWAY = [502, 504];
const NOT_DONE = [404, 410];
/** The longest wait that a participant can ask for: one day. */
const LONGEST_WAIT = 86_400_000;
/** Errors before the connection: the server received nothing. */
const UNSENT = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_TLS',
];
/** Certificates that this side, or the server, does not accept: nothing was sent, or nothing was read. */
const UNSENT_TLS =
  /^(ERR_TLS_|ERR_OSSL_|ERR_SSL_.*(CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE|WRONG_VERSION|PROTOCOL_VERSION)|CERT_|CRL_|DEPTH_ZERO_|ERROR_IN_CERT_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|PATH_LENGTH_|SELF_SIGNED_|UNABLE_TO_)/;
/** What undici reports when a proxy refuses the connection to the server. It has no code of its own. */
const UNSENT_PROXY = /^Proxy response \(\d+\)/;

/** An HTTP request of a declared saga. Redirects are not followed: they would repeat a request elsewhere. */
export class HttpCall implements ProbeCall {
  constructor(
    private readonly definition: HttpDefinition,
    private readonly surroundings: Surroundings,
    private readonly connections: HttpConnections,
  ) {}

  async run(context: CallContext): Promise<unknown> {
    const values = this.valuesOf(context);
    const response = await this.sent(await this.prepared(values), values);
    const { status, text } = response;
    if (this.isSuccess(status)) return this.resultOf(response, values);
    const message = values.redacted(
      `${this.where} answered ${status}${excerptOf(values.redactedPart(text))}`,
    );
    if (this.isRejection(status)) throw new StepRejectedError(message);
    if (GATEWAY.includes(status)) throw new UnknownOutcomeError(message);
    throw new StepCallError(message, retryAfterOf(response.headers['retry-after'], Date.now()));
  }

  async probe(context: CallContext): Promise<ProbeAnswer> {
    const values = this.valuesOf(context);
    const response = await this.sent(await this.prepared(values), values);
    if (this.isSuccess(response.status)) return { done: await this.resultOf(response, values) };
    return NOT_DONE.includes(response.status) ? 'not-done' : 'unknown';
  }

  /** The request as the file has it, without values: these may be secret. */
  private get where(): string {
    return `${this.method} ${writtenText(this.definition.url)}`;
  }

  private get method(): string {
    const { method, body } = this.definition;
    return method ?? (body ? 'POST' : 'GET');
  }

  private isSuccess(status: number): boolean {
    return (status >= 200 && status <= 299) || (this.definition.accept ?? []).includes(status);
  }

  /** Statuses that another attempt would not change. Those of the file come first. */
  private isRejection(status: number): boolean {
    const { reject = [], retry = [] } = this.definition;
    if (reject.includes(status)) return true;
    if (retry.includes(status) || RETRIED.includes(status)) return false;
    return REJECTED.includes(status) || status < 500;
  }

  private valuesOf(context: CallContext): ExpressionValues {
    return new ExpressionValues(context, this.surroundings, this.where);
  }

  private prepared(values: ExpressionValues): Promise<Prepared> {
    const { url, headers = new Map<string, TextTemplate>(), body, tls = {}, proxy } = this.definition;
    return values.evaluated(async () => {
      const valueOf = await values.of(expressionsOf([url, headers, body, tls, proxy]));
      const target = this.urlOf(filledUrl(url, valueOf));
      const own = [...headers].map(([name, text]) => [name.toLowerCase(), filledText(text, valueOf)]);
      const content = body && filled(body, valueOf);
      const isText = typeof content === 'string';
      return {
        ...{ method: this.method, url: target },
        tls: readTlsFiles(tls, this.surroundings.folder, valueOf, (problem) => {
          return new StepCallError(values.redacted(`${this.where}: ${problem}`));
        }),
        proxy: proxy && this.httpUrl(filledText(proxy, valueOf), `The proxy of ${this.where}`),
        ...(content !== undefined && { body: isText ? content : JSON.stringify(content) }),
        headers: {
          accept: 'application/json',
          ...(content !== undefined && { 'content-type': isText ? 'text/plain' : 'application/json' }),
          ...this.connections.traceHeaders(),
          ...(Object.fromEntries(own) as Record<string, string>),
          ...identityOf(values.context),
        },
      };
    });
  }

  private urlOf(text: string): URL {
    const url = this.httpUrl(text, this.where);
    if (url.username === '' && url.password === '') return url;
    throw new StepRejectedError(
      `The URL of ${this.where} has a user name or a password. Set the header authorization instead`,
    );
  }

  private httpUrl(text: string, what: string): URL {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
    throw new StepRejectedError(`${what} is not a URL that begins with http:// or https://`);
  }

  private async sent(request: Prepared, values: ExpressionValues): Promise<Response> {
    const { url, tls, proxy, ...options } = request;
    const { signal } = values.context;
    try {
      const dispatcher = this.connections.dispatcherFor({ url, tls, proxy });
      const { statusCode, headers, body } = await send(url, {
        ...(options as object),
        ...{ signal, dispatcher },
        // The step's own timeout ends the attempt.
        ...{ headersTimeout: 0, bodyTimeout: 0 },
      });
      const text = this.isSuccess(statusCode) ? await this.textOf(body) : await startOf(body);
      return { status: statusCode, headers, text };
    } catch (error) {
      throw this.failureOf(error, values);
    }
  }

  private failureOf(error: unknown, values: ExpressionValues): Error {
    if (error instanceof UnknownOutcomeError) return error;
    const { code, message } = error as Error & { readonly code?: string };
    const problem = values.redacted(`${this.where}: ${message || String(code)}`);
    if (error instanceof HostRefused || code === 'UND_ERR_INVALID_ARG') return new StepRejectedError(problem);
    const isUnsent = UNSENT.includes(code ?? '') || UNSENT_TLS.test(code ?? '') || UNSENT_PROXY.test(message);
    return isUnsent ? new StepCallError(problem) : new UnknownOutcomeError(problem);
  }

  /** @throws UnknownOutcomeError when the response is too large, since its request had an effect */
  private async textOf(body: Dispatcher.ResponseData['body']): Promise<string> {
    const { maxBytes = MAX_BYTES } = this.definition;
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of body as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > maxBytes)
        throw new UnknownOutcomeError(
          `The response of ${this.where} has more than ${maxBytes} bytes. Set maxBytes, or ask for less.`,
        );
      parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
  }

  private resultOf({ status, headers, text }: Response, values: ExpressionValues): Promise<unknown> {
    const body = bodyOf(text, headers['content-type']);
    return values.resultOf(this.definition.result, { status, headers, body }, body);
  }
}

/** Milliseconds by a `Retry-After` header, which has seconds or a date. Undefined: there is none that can be read. */
function retryAfterOf(header: string | string[] | undefined, now: number): number | undefined {
  const written = Array.isArray(header) ? header[0] : header;
  if (written === undefined) return undefined;
  const wait = /^\d+$/.test(written.trim()) ? Number(written) * 1_000 : Date.parse(written) - now;
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), LONGEST_WAIT) : undefined;
}

/** The beginning of a response that is only shown. The rest is not read. */
async function startOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= EXCERPT_BYTES) break;
  }
  return Buffer.concat(parts).toString('utf8', 0, EXCERPT_BYTES);
}

function bodyOf(text: string, type: string | string[] | undefined): unknown {
  if (text === '') return undefined;
  if (!/[/+]json\b/i.test(String(type))) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function excerptOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line === '') return '';
  return `: ${line.length > LONGEST_EXCERPT ? `${line.slice(0, LONGEST_EXCERPT)}…` : line}`;
}
