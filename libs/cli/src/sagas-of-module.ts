import type { Type } from '@nestjs/common';
import {
  type RunnableSaga,
  type SagaGraph,
  SagaMetadata,
  buildHandlerGraphs,
  buildSagaGraph,
  methodsOf,
} from 'nestjs-durable-saga/internal';
import { importFile } from './values.js';
import { UsageError } from './command.js';

/**
 * The sagas of a compiled file, and its step handlers: those that it exports, and those that the Nest modules which it
 * exports provide, themselves or through their imports. No application is started, and no provider is made.
 * @throws UsageError when there is no such file, or no saga in it
 * @throws SagaDefinitionError when one of them is wrong
 */
export async function sagasOfFile(file: string): Promise<RunnableSaga[]> {
  const { path, exported } = await importFile(file);
  const found = new Set<Type>();
  // Of CommonJS, which comes as the default export of a module.
  const { default: whole } = exported;
  const own: unknown[] =
    typeof whole === 'object' && whole !== null ? Object.values(whole as Record<string, unknown>) : [];
  const seen = new Set<unknown>();
  for (const value of [...Object.values(exported), ...own]) await collect(value, found, seen);
  if (found.size === 0) {
    throw new UsageError(
      `${path} exports neither a saga nor a module that provides one. Give the compiled file of your root module, ` +
        `such as dist/app.module.js`,
    );
  }
  return [...found].flatMap((type) =>
    graphsOf(type).map((graph) => ({
      graph,
      methods: new Set(methodsOf(type).plain),
      invoke: () => {
        throw new Error('The command line runs no sagas');
      },
    })),
  );
}

/** Builds the graph of a saga class, and of each step handler of the class. */
function graphsOf(type: Type): SagaGraph[] {
  const handlers = buildHandlerGraphs(type).map(({ graph }) => graph);
  return SagaMetadata.sagaOf(type) ? [buildSagaGraph(type), ...handlers] : handlers;
}

/** A saga, or a class with step handlers. */
function isRun(type: object): boolean {
  return (
    SagaMetadata.sagaOf(type) !== undefined ||
    ('prototype' in type && SagaMetadata.handlersOf(type as Type).length > 0)
  );
}

interface ModuleLike {
  readonly module?: unknown;
  readonly imports?: unknown;
  readonly providers?: unknown;
  readonly forwardRef?: () => unknown;
}

/** What it is itself, and what it imports and provides: a class, a dynamic module, or a promise of one. */
async function collect(given: unknown, found: Set<Type>, seen: Set<unknown>): Promise<void> {
  const value = await given;
  if (value === null || (typeof value !== 'function' && typeof value !== 'object') || seen.has(value)) return;
  seen.add(value);
  if (typeof value === 'function') {
    if (isRun(value)) found.add(value as Type);
    const metadata = (key: string): unknown => Reflect.getMetadata(key, value);
    return collectModule({ imports: metadata('imports'), providers: metadata('providers') }, found, seen);
  }
  const { module, imports, providers, forwardRef } = value as ModuleLike;
  if (typeof forwardRef === 'function') return collect(forwardRef(), found, seen);
  if (module === undefined) return;
  await collect(module, found, seen);
  await collectModule({ imports, providers }, found, seen);
}

async function collectModule({ imports, providers }: ModuleLike, found: Set<Type>, seen: Set<unknown>) {
  for (const provider of listOf(providers)) {
    const type = classOf(provider);
    if (type && isRun(type)) found.add(type);
  }
  for (const imported of listOf(imports)) await collect(imported, found, seen);
}

function classOf(provider: unknown): Type | undefined {
  const type =
    typeof provider === 'object' && provider !== null
      ? (provider as { useClass?: unknown }).useClass
      : provider;
  return typeof type === 'function' ? (type as Type) : undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]).flat() : [];
}
