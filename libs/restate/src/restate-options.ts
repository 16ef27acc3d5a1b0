import {
  kind,
  optional,
  type OptionTable,
  readOptions,
  required,
  withDefault,
} from 'nestjs-durable-saga/internal';
import type { MessageTransport } from './message-object.js';

/** Where Restate is, and where it reaches this process. */
export interface RestateEngineOptions {
  /** The address of the ingress, such as `http://localhost:8080`. */
  readonly ingress: string;
  /** The address of the admin API, such as `http://localhost:9070`. */
  readonly admin: string;
  /** The port at which this process serves Restate. 0: any that is free. Default: 9080. */
  readonly port?: number;
  /** The host name or address of this machine at which it serves Restate, such as `127.0.0.1`. Default: all of them. */
  readonly host?: string;
  /**
   * The public keys by which Restate signs its requests (`request-identity-private-key-pem-file` of the server), such as
   * `publickeyv1_…`. Others are refused. Default: requests are not checked.
   */
  readonly identityKeys?: readonly string[];
  /**
   * The address at which Restate reaches the processes of the application: that of a load balancer, if there are several.
   * Default: `http://localhost` with `port`.
   */
  readonly address?: string;
  /**
   * Sends what steps publish by `ctx.publish()`: a transport of `nestjs-durable-saga-messaging`, which is closed with the
   * application. All processes need it. Default: none, and a step that publishes fails.
   */
  readonly transport?: MessageTransport;
}

const address = kind.checked<string>(isAddress, "give an address such as 'http://localhost:8080'");
const transport = kind.checked<MessageTransport>(
  (given) => typeof (given as MessageTransport | null)?.send === 'function',
  'give a transport such as new ClientProxyTransport(client)',
);
const host = kind.checked<string>(
  (given) => typeof given === 'string' && given !== '',
  "give a host name or an address such as '127.0.0.1'",
);
const identityKeys = kind.checked<readonly string[]>(
  (given) =>
    Array.isArray(given) && given.every((key) => typeof key === 'string' && key.startsWith('publickeyv1_')),
  "give an array of keys such as 'publickeyv1_…'",
);
const OPTIONS = {
  ingress: required(address),
  admin: required(address),
  port: withDefault(kind.count(0, 65_535), 9080),
  host: optional(host),
  identityKeys: optional(identityKeys),
  address: optional(address),
  transport: optional(transport),
} satisfies OptionTable<RestateEngineOptions>;

/** The options, of which those with a default are there. */
export type RestateOptions = RestateEngineOptions & Required<Pick<RestateEngineOptions, 'port'>>;

/** @throws SagaValidationError that names all invalid options */
export function readRestateOptions(options: RestateEngineOptions): RestateOptions {
  return readOptions('restateEngine()', OPTIONS, options);
}

function isAddress(given: unknown): boolean {
  return typeof given === 'string' && URL.canParse(given) && /^https?:$/.test(new URL(given).protocol);
}
