import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { methodName } from './legacy-decorators.js';
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

/** The only writer and the only reader of what the decorators leave on a class. */
export const SagaMetadata = {
  defineSaga(target: object, options: SagaOptions): void {
    Reflect.defineMetadata(SAGA, options, target);
  },

  defineStep(prototype: object, key: string, options: NodeOptions, node: NodeMetadata = STEP): void {
    const method = methodName(DECORATORS[node.kind], key);
    const own = (Reflect.getOwnMetadata(STEPS, prototype) ?? []) as StepMetadata[];
    Reflect.defineMetadata(STEPS, [...own, { method, options, node }], prototype);
  },

  defineHandler(prototype: object, handler: HandlerMetadata): void {
    methodName('@StepHandler', handler.method);
    const own = (Reflect.getOwnMetadata(HANDLERS, prototype) ?? []) as HandlerMetadata[];
    Reflect.defineMetadata(HANDLERS, [...own, handler], prototype);
  },

  defineObserver(target: object, observer: ObserverMetadata): void {
    methodName('@OnSagaEvent', observer.method);
    const own = (Reflect.getOwnMetadata(OBSERVERS, target) ?? []) as ObserverMetadata[];
    Reflect.defineMetadata(OBSERVERS, [...own, observer], target);
  },

  /** The options of `@Saga` on this very class; a subclass of a saga is not one by itself. */
  sagaOf(target: object): SagaOptions | undefined {
    return Reflect.getOwnMetadata(SAGA, target) as SagaOptions | undefined;
  },

  /** The steps in order of declaration, those of base classes first; a step declared again keeps its place. */
  stepsOf(target: { readonly prototype: object }): StepMetadata[] {
    return byMethod<StepMetadata>(STEPS, target.prototype);
  },

  /** The step handlers of a class, those of base classes first; a method decorated again is the handler it is last. */
  handlersOf(target: { readonly prototype: object }): HandlerMetadata[] {
    return byMethod<HandlerMetadata>(HANDLERS, target.prototype);
  },

  /** What the methods of a class observe, each perhaps several things; one declared again observes what it says last. */
  observersOf(target: { readonly prototype: object }): ObserverMetadata[] {
    const observers = new Map<string, ObserverMetadata[]>();
    for (const prototype of chainOf(target.prototype)) {
      const own = (Reflect.getOwnMetadata(OBSERVERS, prototype) ?? []) as ObserverMetadata[];
      for (const { method } of own)
        observers.set(
          method,
          own.filter((one) => one.method === method),
        );
    }
    return [...observers.values()].flat();
  },

  /** Static methods decorated as observers, which is a mistake. */
  staticObserversOf(target: object): ObserverMetadata[] {
    return (Reflect.getMetadata(OBSERVERS, target) ?? []) as ObserverMetadata[];
  },

  /** Static methods decorated as handlers, which is a mistake. */
  staticHandlersOf(target: object): HandlerMetadata[] {
    return (Reflect.getMetadata(HANDLERS, target) ?? []) as HandlerMetadata[];
  },

  /** Static methods decorated as steps, which is a mistake. */
  staticStepsOf(target: object): StepMetadata[] {
    return (Reflect.getMetadata(STEPS, target) ?? []) as StepMetadata[];
  },
};

/** What decorators have left on the methods of a class and of those that it extends. */
function byMethod<M extends { readonly method: string }>(key: symbol, own: object): M[] {
  const methods = new Map<string, M>();
  for (const prototype of chainOf(own)) {
    for (const method of (Reflect.getOwnMetadata(key, prototype) ?? []) as M[])
      methods.set(method.method, method);
  }
  return [...methods.values()];
}

/** A prototype and those that it extends, the most basic first. */
function chainOf(own: object): object[] {
  const chain: object[] = [];
  for (let p: object | null = own; p; p = Object.getPrototypeOf(p) as object | null) chain.unshift(p);
  return chain;
}
