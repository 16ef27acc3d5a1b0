import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { type SagaOutcome, SagaService } from 'nestjs-durable-saga';
import {
  type EngineLog,
  type Invoker,
  type OpenQuestion,
  type StoredMessage,
  awaitedBy,
  buildSagaGraph,
  decodePayload,
  isQuiet,
  methodsOf,
  openQuestions,
  toOutcome,
} from 'nestjs-durable-saga/internal';
import {
  MemorySagaStore,
  MemoryWakeupHub,
  type RegisteredSaga,
  SagaRegistry,
  type ServiceParts,
  engineServices,
  withDefaults,
} from 'nestjs-durable-saga/internal/runtime';

/** What a saga waits for, and which. */
export interface SagaQuestion extends OpenQuestion {
  readonly id: string;
}

/** Sagas that this process runs in its memory, in real time. */
export interface MemorySession {
  readonly sagas: SagaService;
  readonly running: ServiceParts;
  /** What this saga and its sub-sagas wait for. */
  questionsOf(id: string): Promise<SagaQuestion[]>;
  /** Without an answer, nothing happens to this saga any more. */
  isQuiet(id: string): Promise<boolean>;
  outcomeOf(id: string): Promise<SagaOutcome>;
  /** The messages that the sagas have published so far, in order. They are sent nowhere. */
  published(): PublishedMessage[];
}

/** A message of a saga in memory. */
export type PublishedMessage = Pick<StoredMessage, 'topic' | 'key' | 'type' | 'headers'> & {
  payload: unknown;
};

const NO_LOG: EngineLog = {
  debug: () => undefined,
  log: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/**
 * Runs `work` beside an engine in memory that has these sagas, and no others.
 * @param around changes what the methods of a saga do
 */
export async function inMemory<T>(
  types: readonly Type[],
  around: (invoke: Invoker) => Invoker,
  work: (session: MemorySession) => Promise<T>,
): Promise<T> {
  const hub = new MemoryWakeupHub();
  const store = new MemorySagaStore({ wakeup: hub.wakeup() });
  const registry = new SagaRegistry(
    types.map((type) => registered(type, around)),
    [],
  );
  const options = withDefaults({});
  const running = engineServices(
    { ...{ store, graphs: store.graphs, cleanup: store.cleanup }, wakeup: hub.wakeup() },
    { registry, options, engine: { workerId: `saga:${process.pid}` }, log: NO_LOG },
  );
  const { engine } = running;
  const load = async (id: string) => (await store.load({ id }))!;
  await engine.start();
  try {
    return await work({
      ...{ sagas: new SagaService({ ready: async () => running }), running },
      questionsOf: async (id) => questionsIn(store, id),
      isQuiet: async (id) => isQuiet(await load(id), { store, registry }),
      outcomeOf: async (id) => toOutcome(await load(id)),
      published: () => store.outbox.map(messageOf),
    });
  } finally {
    await engine.stop();
  }
}

function registered(type: Type, around: (invoke: Invoker) => Invoker): RegisteredSaga {
  const instance = new type() as Record<string, (...args: unknown[]) => unknown>;
  const callSagaMethod: Invoker = (...[method, ...args]) => instance[method]!(...args);
  const invoke = around(callSagaMethod);
  return { type, instance, graph: buildSagaGraph(type), methods: new Set(methodsOf(type).plain), invoke };
}

function messageOf({ topic, key, type, payload, headers }: StoredMessage): PublishedMessage {
  return { topic, key, type, payload: decodePayload(payload), headers };
}

async function questionsIn(store: MemorySagaStore, id: string): Promise<SagaQuestion[]> {
  const saga = (await store.load({ id }))!;
  const own = openQuestions(saga).map((question) => ({ ...question, id }));
  const theirs = await Promise.all(awaitedBy(saga.state).map((child) => questionsIn(store, child.id)));
  return [...own, ...theirs.flat()];
}
