import {
  kind,
  optional,
  type OptionTable,
  readOptions,
  required,
  withDefault,
} from 'nestjs-durable-saga/internal';
import type { ExternalEngine, OwnEngine, SagaGraph } from 'nestjs-durable-saga/internal/backend';
import type { MessageTransport } from './message-object.js';
import { openRestate } from './restate-backend.js';

/** Where Restate is, and where it reaches this process. */
export interface RestateEngineOptions {
  /** The address of the ingress, such as `http://localhost:8080`. */
  readonly ingress: string;
  /** The address of the admin API, such as `http://localhost:9070`. */
  readonly admin: string;
  /** The port at which this process serves Restate. 0: any that is free. Default: 9080. */
  readonly port?: number;
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
const OPTIONS = {
  ingress: required(address),
  admin: required(address),
  port: withDefault(kind.count(0, 65_535), 9080),
  address: optional(address),
  transport: optional(transport),
} satisfies OptionTable<RestateEngineOptions>;

/**
 * Keeps sagas in Restate instead of PostgreSQL: `SagaModule.forRoot({ engine: restateEngine({ … }) })`.
 * @throws SagaValidationError that names all invalid options
 * @throws SagaConfigurationError at start-up if a saga has what Restate cannot keep, or on Node 20
 * @throws SagaUnavailableError at start-up if Restate cannot be reached within 30 s
 */
export function restateEngine(options: RestateEngineOptions): ExternalEngine {
  const read = readOptions('restateEngine()', OPTIONS, options);
  const engine: OwnEngine = {
    name: 'Restate',
    refuses,
    open: (process) => openRestate(read, process),
  };
  return engine;
}

function refuses(graph: SagaGraph): string[] {
  const ofSteps = [...graph.steps.values()].flatMap((step) =>
    step.transactional ? `transactional in step '${step.name}'` : [],
  );
  return [...(graph.durability === 'relaxed' ? ["durability: 'relaxed'"] : []), ...ofSteps];
}

function isAddress(given: unknown): boolean {
  return typeof given === 'string' && URL.canParse(given) && /^https?:$/.test(new URL(given).protocol);
}
