import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { format } from 'node:util';
import { createEndpointHandler, type LoggerTransport } from '@restatedev/restate-sdk';
import { connect } from '@restatedev/restate-sdk-clients';
import {
  type EngineLog,
  type EngineProcess,
  type OpenBackend,
  SagaConfigurationError,
  type WakeupMessage,
} from 'nestjs-durable-saga/internal/backend';
import { requireClock, watchClock } from './clock-check.js';
import { newsOf } from './kept-saga.js';
import { sendBy } from './message-object.js';
import { objectsOf } from './objects.js';
import { Offers } from './offers.js';
import { RestateCalls } from './restate-calls.js';
import { AdminError, isOutage, request } from './restate-errors.js';
import { RestateCleanup } from './restate-cleanup.js';
import { RestateGraphStore } from './restate-graph-store.js';
import type { RestateOptions } from './restate-options.js';
import { RestatePauses } from './restate-pauses.js';
import { RestateSagaStore } from './restate-saga-store.js';
import { RestateWakeup } from './restate-wakeup.js';
import { ANSWERS_WITHIN, untilAnswered } from './until-answered.js';

/** What tests give: a clock, and a function that sees every hint. */
interface TestSeams {
  readonly now?: () => number;
  readonly announced?: (message: WakeupMessage) => void;
}

/** A backend that tests can hurry. */
export interface RestateBackend extends OpenBackend {
  /** Offers all sagas that are due, by the clock of this process. */
  offerAll(): Promise<void>;
}

/** How long (ms) calls of Restate that are in progress may take when the process ends. */
const CALLS_END_WITHIN = 5_000;

/** Serves the objects to Restate, and makes of them what an engine stands on. */
export async function openRestate(
  options: RestateOptions,
  { worker, patience, log, relayed, own, onlyCalls, now = Date.now, announced }: EngineProcess & TestSeams,
): Promise<RestateBackend> {
  const { ingress, admin, transport } = options;
  if (typeof Promise.withResolvers !== 'function')
    throw new SagaConfigurationError(
      `The SDK of Restate requires Node 22 or later, and this is Node ${process.versions.node}. Update Node.`,
    );
  const calls = new RestateCalls({
    ingress: connect({ url: ingress, fetch: request }),
    admin,
    worker,
    patience,
    now,
  });
  const offers = new Offers();
  const wakeup = new RestateWakeup(calls.options, () => calls.offer(offers.close()));
  const announce = (message: WakeupMessage): void => {
    announced?.(message);
    wakeup.receive(message);
  };
  const services = objectsOf(
    ({ hints, ...news }) => {
      const again = offers.add(news);
      const own = hints.filter((hint) => hint.worker === worker).map(({ message }) => message);
      const messages: WakeupMessage[] = news.due ? [{ type: 'due' }, ...own] : own;
      messages.forEach(announce);
      return { again, others: hints.filter((hint) => hint.worker !== worker) };
    },
    sendBy(transport, relayed),
    now,
  );
  await requireClock(admin);
  const close = onlyCalls ? undefined : await serve(services, options, log);
  const graphs = new RestateGraphStore(calls);
  const unwatch = onlyCalls ? undefined : watchClock(admin, log);
  const pauses = new RestatePauses(calls, announce);
  const publishes = transport !== undefined;
  const store = new RestateSagaStore(calls, offers, graphs, pauses, publishes, own && { ...own, log });
  const { committed } = onlyCalls ? {} : store;
  await committed?.start();
  return {
    offerAll: async () => {
      for (const row of await calls.scan()) offers.add({ ...newsOf(row, now()), now: now() });
    },
    ...{ graphs, wakeup, store },
    cleanup: new RestateCleanup(calls, (ids) => store.forget(ids)),
    starting: (work) => untilAnswered('Restate does not answer', work, isOutage),
    close: async () => {
      unwatch?.();
      await committed?.stop();
      await close?.();
      await transport?.close?.();
    },
  };
}

/** The SDK logs each invocation at level info. */
const LOGGED: readonly string[] = ['warn', 'error'];

function loggerOf(log: EngineLog): LoggerTransport {
  return ({ level }, message, ...rest: unknown[]) => {
    if (LOGGED.includes(level)) log.warn(`Restate: ${format(message, ...rest)}`);
  };
}

/** Serves the objects, and registers them. Returns what ends that. */
async function serve(
  services: ReturnType<typeof objectsOf>,
  { admin, port, host, identityKeys, address }: RestateOptions,
  log: EngineLog,
): Promise<() => Promise<void>> {
  const keys = identityKeys && { identityKeys: [...identityKeys] };
  const handler = createEndpointHandler({ services, logger: loggerOf(log), ...keys });
  const server = await served(handler, port, host);
  const uri = address ?? `http://localhost:${server.port}`;
  const refused = `${uri} could not be registered with Restate at ${admin}`;
  await untilAnswered(refused, () => register(admin, uri)).catch(async (error: unknown) => {
    await server.close();
    throw error;
  });
  return server.close;
}

async function served(handler: ReturnType<typeof createEndpointHandler>, port: number, host?: string) {
  const server = createServer(handler);
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const session of sessions) session.close();
    // What is cut off goes on in another process at the same address, as after a crash.
    const late = setTimeout(() => sessions.forEach((session) => session.destroy()), CALLS_END_WITHIN);
    await closed;
    clearTimeout(late);
  };
  return { port: (server.address() as AddressInfo).port, close };
}

async function register(admin: string, uri: string): Promise<void> {
  // The objects of another version of this package at the same address replace those that are there.
  const response = await request(new URL('/deployments', admin), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri, force: true }),
    signal: AbortSignal.timeout(ANSWERS_WITHIN),
  });
  if (!response.ok) throw new AdminError(response.status, await response.text());
}
