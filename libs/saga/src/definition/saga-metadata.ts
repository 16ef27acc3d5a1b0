import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { SagaOptions } from './saga-options.js';
import type { AnyNodeOptions, StepHandlerOptions } from './step-options.js';

// Shared by copies of this package: the one of the command line may be another than that of the application.
const SAGA = Symbol.for('nestjs-durable-saga:saga');
const STEPS = Symbol.for('nestjs-durable-saga:steps');
const HANDLERS = Symbol.for('nestjs-durable-saga:handlers');

/** Which of the decorators declared a step, and what it was given beside its options. */
export type NodeMetadata =
  | { readonly kind: 'step' | 'signal' | 'approval' }
  | { readonly kind: 'sub-saga'; readonly child: () => Type }
  | { readonly kind: 'remote'; readonly handler: string };

export interface StepMetadata {
  readonly method: string;
  readonly options: AnyNodeOptions;
  readonly node: NodeMetadata;
}

export interface HandlerMetadata {
  readonly method: string;
  /** By which remote steps ask for it. */
  readonly name: string;
  readonly options: StepHandlerOptions;
}

const STEP: NodeMetadata = { kind: 'step' };

/** The only writer and the only reader of what the decorators leave on a class. */
export const SagaMetadata = {
  defineSaga(target: object, options: SagaOptions): void {
    Reflect.defineMetadata(SAGA, options, target);
  },

  defineStep(prototype: object, method: string, options: AnyNodeOptions, node: NodeMetadata = STEP): void {
    const own = (Reflect.getOwnMetadata(STEPS, prototype) ?? []) as StepMetadata[];
    Reflect.defineMetadata(STEPS, [...own, { method, options, node }], prototype);
  },

  defineHandler(prototype: object, handler: HandlerMetadata): void {
    const own = (Reflect.getOwnMetadata(HANDLERS, prototype) ?? []) as HandlerMetadata[];
    Reflect.defineMetadata(HANDLERS, [...own, handler], prototype);
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
  const chain: object[] = [];
  for (let p: object | null = own; p; p = Object.getPrototypeOf(p) as object | null) chain.unshift(p);
  const methods = new Map<string, M>();
  for (const prototype of chain) {
    for (const method of (Reflect.getOwnMetadata(key, prototype) ?? []) as M[])
      methods.set(method.method, method);
  }
  return [...methods.values()];
}
