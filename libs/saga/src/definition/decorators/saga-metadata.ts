import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { SagaDefinitionError } from '../../errors.js';
import type { SagaOptions } from '../options/saga-options.js';
import type { NodeOptions, StepHandlerOptions } from '../options/step-options.js';

// Shared by copies of this package: the one of the command line may be another than that of the application.
const SAGA = Symbol.for('nestjs-durable-saga:saga');
const STEPS = Symbol.for('nestjs-durable-saga:steps');
const HANDLERS = Symbol.for('nestjs-durable-saga:handlers');
const OBSERVERS = Symbol.for('nestjs-durable-saga:observers');

/** Which of the decorators declared a step, and what it was given beside its options. */
export type NodeMetadata =
  | { readonly kind: 'step' | 'signal' | 'approval' }
  | { readonly kind: 'sub-saga'; readonly child: () => Type }
  | { readonly kind: 'remote'; readonly handler: string };

export interface StepMetadata {
  readonly method: string;
  readonly options: NodeOptions;
  readonly node: NodeMetadata;
}

export interface HandlerMetadata {
  readonly method: string;
  /** By which remote steps ask for it. */
  readonly name: string;
  readonly options: StepHandlerOptions;
}

const STEP: NodeMetadata = { kind: 'step' };

/** The decorators as users write them. */
export const DECORATORS: Record<NodeMetadata['kind'], string> = {
  step: '@Step',
  signal: '@WaitFor',
  approval: '@Approval',
  'sub-saga': '@SubSaga',
  remote: '@RemoteStep',
};

export interface ObserverMetadata {
  readonly method: string;
  /** As they were given; checked at start-up. */
  readonly types: readonly unknown[];
  /** A class that should be a saga's. Undefined: it observes every saga. */
  readonly saga?: { readonly given: unknown };
}

type WithPrototype = { readonly prototype: object };

/** The only writer and the only reader of what the decorators leave on a class. */
export const SagaMetadata = {
  defineSaga(target: object, options: SagaOptions): void {
    Reflect.defineMetadata(SAGA, options, target);
  },

  defineStep(prototype: object, key: string, options: NodeOptions, node: NodeMetadata = STEP): void {
    const method = methodName(DECORATORS[node.kind], key);
    add<StepMetadata>(STEPS, prototype, { method, options, node });
  },

  defineHandler(prototype: object, handler: HandlerMetadata): void {
    methodName('@StepHandler', handler.method);
    add(HANDLERS, prototype, handler);
  },

  defineObserver(target: object, observer: ObserverMetadata): void {
    methodName('@OnSagaEvent', observer.method);
    add(OBSERVERS, target, observer);
  },

  /** The options of `@Saga` on this very class; a subclass of a saga is not one by itself. */
  sagaOf(target: object): SagaOptions | undefined {
    return Reflect.getOwnMetadata(SAGA, target) as SagaOptions | undefined;
  },

  /** The steps in order of declaration, those of base classes first; a step declared again keeps its place. */
  stepsOf({ prototype }: WithPrototype): StepMetadata[] {
    return byMethod<StepMetadata>(STEPS, prototype).map((declared) => declared.at(-1)!);
  },

  /** The step handlers of a class, those of base classes first; a method decorated again is the handler it is last. */
  handlersOf({ prototype }: WithPrototype): HandlerMetadata[] {
    return byMethod<HandlerMetadata>(HANDLERS, prototype).map((declared) => declared.at(-1)!);
  },

  /** What the methods of a class observe, each perhaps several things; one declared again observes what it says last. */
  observersOf({ prototype }: WithPrototype): ObserverMetadata[] {
    return byMethod<ObserverMetadata>(OBSERVERS, prototype).flat();
  },

  // Static methods with a decorator are a mistake. They inherit from each other.
  staticStepsOf: (target: object) => metadataOf<StepMetadata>(STEPS, target),
  staticHandlersOf: (target: object) => metadataOf<HandlerMetadata>(HANDLERS, target),
  staticObserversOf: (target: object) => metadataOf<ObserverMetadata>(OBSERVERS, target),
};

function add<M>(key: symbol, target: object, one: M): void {
  Reflect.defineMetadata(key, [...ownOf<M>(key, target), one], target);
}

function ownOf<M>(key: symbol, target: object): readonly M[] {
  return (Reflect.getOwnMetadata(key, target) ?? []) as M[];
}

function metadataOf<M>(key: symbol, target: object): M[] {
  return (Reflect.getMetadata(key, target) ?? []) as M[];
}

/** What decorators have left on each method of a class, by the last class that declares the method: base classes first. */
function byMethod<M extends { readonly method: string }>(key: symbol, own: object): M[][] {
  const chain: object[] = [];
  for (let p: object | null = own; p; p = Object.getPrototypeOf(p) as object | null) chain.unshift(p);
  const methods = new Map<string, M[]>();
  for (const prototype of chain) {
    const declared = ownOf<M>(key, prototype);
    for (const { method } of declared)
      methods.set(
        method,
        declared.filter((one) => one.method === method),
      );
  }
  return [...methods.values()];
}

/**
 * The name of a decorated method, as a decorator is given it where `experimentalDecorators` is set, as Nest needs it.
 * Standard decorators are given an object in its place, and a prototype never: nothing that Nest, or this package,
 * leaves on a class would be found again.
 * @param decorator as users write it: `@Step`
 * @throws SagaDefinitionError when the file was compiled with standard decorators
 */
function methodName(decorator: string, key: unknown): string {
  if (typeof key !== 'object' || key === null || !('kind' in key)) return key as string;
  const { name } = key as { name?: unknown };
  throw new SagaDefinitionError(
    `${decorator} on the method ${String(name)}: this file was compiled with standard decorators, which Nest does not ` +
      `support. Set "experimentalDecorators": true and "emitDecoratorMetadata": true under compilerOptions of tsconfig.json, ` +
      `and make sure that the compiler reads that file.`,
  );
}
